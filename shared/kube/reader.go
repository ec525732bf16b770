package kube

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Reader reads as its Client does, except for nodes, Leases, the ledger and the policies, which are
// read again and again. For these a Reader may return what this process has read or written less than
// a second ago, but nothing from before its time notBefore.
type Reader struct {
	*Client
	notBefore time.Duration
}

// NewReader returns a reader for which reads that began before notBefore, by Clock.Elapsed, do not
// count. A caller that decides after time has passed, or after something outside has changed, passes
// the present time. With 0, all reads count that are less than a second old.
func (c *Client) NewReader(notBefore time.Duration) Reader { return Reader{c, notBefore} }

// Node reads a node; nil when there is none.
func (r Reader) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return getCached[corev1.Node](ctx, r, nodesPath+"/"+name)
}

// Lease reads a node's Lease; nil when there is none.
func (r Reader) Lease(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return getCached[coordinationv1.Lease](ctx, r, leasesPath+"/"+node)
}

// Ledger reads the ledger, as Client.Ledger does.
func (r Reader) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	var l api.FenceLedger
	if raw := r.cached(theLedger); raw != nil && json.Unmarshal(raw, &l) == nil {
		return r.restored(&l), nil
	}
	return r.Client.Ledger(ctx)
}

// Policies reads all FencePolicies.
func (r Reader) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	if raw := r.cached(policiesPath); raw != nil {
		var l api.FencePolicyList
		if err := json.Unmarshal(raw, &l); err == nil {
			return l.Items, nil
		}
	}
	return r.Client.Policies(ctx)
}

// PoliciesNamed are those of these FencePolicies that exist, each as a quorum read has it.
func (r Reader) PoliciesNamed(ctx context.Context, names []string) ([]api.FencePolicy, error) {
	return eachNamed(r.Client, names, func(name string) (*api.FencePolicy, error) {
		return getCached[api.FencePolicy](ctx, r, policiesPath+"/"+name)
	})
}

// getCached is get, unless a cached object counts for the reader.
func getCached[T any](ctx context.Context, r Reader, path string) (*T, error) {
	var out T
	if raw := r.cached(path); raw != nil && json.Unmarshal(raw, &out) == nil {
		return &out, nil
	}
	return get[T](ctx, r.Client, path)
}

// cached is the object as this process has it from a read that counts; nil if it must be read.
func (r Reader) cached(path string) []byte {
	r.cache.mu.Lock()
	o, ok := r.cache.all[path]
	r.cache.mu.Unlock()
	if !ok || o.at < r.notBefore || r.clock.elapsed()-o.at >= cacheFor {
		return nil
	}
	return o.raw
}

package kube

import (
	"context"
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Recent reads as its Client does, except for the node, its Lease, the ledger and the policies,
// which are looked at again and again. It may answer these with what this process has read or
// written after a time that its caller names, and less than a second ago. A caller that decides
// after time has passed, or after something outside has changed, names a later time.
type Recent struct {
	*Client
	since time.Duration
}

// Since returns a reader for which reads before a time of the boot clock (Clock.Elapsed) do not
// count. With the zero time, all reads count that are less than a second old.
func (c *Client) Since(elapsed time.Duration) Recent { return Recent{c, elapsed} }

// Anew returns a reader for which no earlier read counts: it reads each object once in a second.
func (c *Client) Anew() Recent { return c.Since(c.clock.Elapsed()) }

// Node reads a node; nil when there is none.
func (r Recent) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return getRecent[corev1.Node](ctx, r, nodesPath+"/"+name)
}

// Lease reads a node's Lease; nil when there is none.
func (r Recent) Lease(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return getRecent[coordinationv1.Lease](ctx, r, leasesPath+"/"+node)
}

// Ledger reads the ledger, as Client.Ledger does.
func (r Recent) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	var l api.FenceLedger
	if raw := r.seen(theLedger); raw != nil && json.Unmarshal(raw, &l) == nil {
		return r.restored(&l), nil
	}
	return r.Client.Ledger(ctx)
}

// Policies reads all FencePolicies.
func (r Recent) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	if raw := r.seen(policiesPath); raw != nil {
		var l api.FencePolicyList
		if err := json.Unmarshal(raw, &l); err == nil {
			return l.Items, nil
		}
	}
	return r.Client.Policies(ctx)
}

// PoliciesNamed are those of these FencePolicies that exist, each as a quorum read has it.
func (r Recent) PoliciesNamed(ctx context.Context, names []string) ([]api.FencePolicy, error) {
	return eachNamed(r.Client, names, func(name string) (*api.FencePolicy, error) {
		return getRecent[api.FencePolicy](ctx, r, policiesPath+"/"+name)
	})
}

// getRecent is get, unless this process has seen the object recently enough.
func getRecent[T any](ctx context.Context, r Recent, path string) (*T, error) {
	var out T
	if raw := r.seen(path); raw != nil && json.Unmarshal(raw, &out) == nil {
		return &out, nil
	}
	return get[T](ctx, r.Client, path)
}

// seen is the object as this process has seen it since then; nil if it must be read.
func (r Recent) seen(path string) []byte {
	r.cache.mu.Lock()
	o, ok := r.cache.all[path]
	r.cache.mu.Unlock()
	if !ok || o.at < r.since || r.clock.elapsed()-o.at >= cacheFor {
		return nil
	}
	return o.raw
}

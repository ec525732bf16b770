package kube

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
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

// cachedObject is one object as the API server sent it, with the time at which the request began.
type cachedObject struct {
	raw []byte
	at  time.Duration
}

// objectCache has the objects that this process has seen or written in the last second.
type objectCache struct {
	mu  sync.Mutex
	all map[string]cachedObject
}

// cacheFor is how long an object that was seen need not be read again. Time always passes between
// a look and the action on it; this is no more than the requests of one round may take anyway.
const cacheFor = time.Second

// addToCache keeps an object as the API server sent it for a request that began at that time,
// unless a later one is cached.
func (c *Client) addToCache(path string, raw []byte, at time.Duration) {
	if !isCached(path) {
		return
	}
	k := &c.cache
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.all[path]; ok && old.at > at {
		return
	}
	if k.all == nil {
		k.all = map[string]cachedObject{}
	}
	for p, old := range k.all {
		if at-old.at > cacheFor {
			delete(k.all, p)
		}
	}
	k.all[path] = cachedObject{raw, at}
	if strings.HasPrefix(path, policiesPath+"/") && k.all[policiesPath].at < at {
		delete(k.all, policiesPath) // the list has this policy as it was before
	}
}

// isCached tells whether a path is one of the objects that are looked at again and again. Nothing
// else is cached, least of all a Secret (S29).
func isCached(path string) bool {
	if path == policiesPath {
		return true
	}
	for _, of := range []string{nodesPath, leasesPath, ledgersPath, policiesPath} {
		if strings.HasPrefix(path, of+"/") {
			return true
		}
	}
	return false
}

// dropFromCache drops one object, because it has changed.
func (c *Client) dropFromCache(path string) {
	c.cache.mu.Lock()
	delete(c.cache.all, path)
	c.cache.mu.Unlock()
}

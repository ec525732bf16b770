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

// Recent reads as its Client does, but for the node, its Lease, the ledger and the policies,
// which are looked at again and again. Those it may take from what this process has read or
// written since a moment that its caller names, and less than a second ago. Whoever decides
// after time has passed, or after something outside has changed, names a later moment.
type Recent struct {
	*Client
	since time.Duration
}

// Since is the reader for whom what was read before a time of the boot clock (Clock.Elapsed)
// does not count. Since the zero time counts all that is less than a second old.
func (c *Client) Since(elapsed time.Duration) Recent { return Recent{c, elapsed} }

// Anew is the reader for whom nothing counts that was read before now: it reads each object
// once, for as long as a second.
func (c *Client) Anew() Recent { return c.Since(c.clock.Elapsed()) }

// Node is a node; nil when there is none.
func (r Recent) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return getRecent[corev1.Node](ctx, r, nodesPath+"/"+name)
}

// Lease is a node's Lease; nil when there is none.
func (r Recent) Lease(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return getRecent[coordinationv1.Lease](ctx, r, leasesPath+"/"+node)
}

// Ledger is the ledger, as Client.Ledger has it.
func (r Recent) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	var l api.FenceLedger
	if raw := r.seen(theLedger); raw != nil && json.Unmarshal(raw, &l) == nil {
		return r.restored(&l), nil
	}
	return r.Client.Ledger(ctx)
}

// Policies are all FencePolicies.
func (r Recent) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	if raw := r.seen(policiesPath); raw != nil {
		var l api.FencePolicyList
		if err := json.Unmarshal(raw, &l); err == nil {
			return l.Items, nil
		}
	}
	return r.Client.Policies(ctx)
}

// getRecent is get, unless this process has seen the object since.
func getRecent[T any](ctx context.Context, r Recent, path string) (*T, error) {
	var out T
	if raw := r.seen(path); raw != nil && json.Unmarshal(raw, &out) == nil {
		return &out, nil
	}
	return get[T](ctx, r.Client, path)
}

// seen is what this process has seen since; nil if it is to be read.
func (r Recent) seen(path string) []byte {
	r.cache.mu.Lock()
	o, ok := r.cache.all[path]
	r.cache.mu.Unlock()
	if !ok || o.at < r.since || r.clock.elapsed()-o.at >= cacheFor {
		return nil
	}
	return o.raw
}

// cachedObject is one object as the API server gave it, to a request that began then.
type cachedObject struct {
	raw []byte
	at  time.Duration
}

// objectCache is what this process has seen or written in the last moment.
type objectCache struct {
	mu  sync.Mutex
	all map[string]cachedObject
}

// cacheFor is how long what this process has seen need not be looked at again.
// Between any look and what is done on it time passes; this is as much as the
// requests of one turn may take anyway.
const cacheFor = time.Second

// addToCache keeps an object as the API server gave it to a request that began at
// that time, unless something later is known.
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
}

// isCached tells the paths of the objects that are looked at again and again. Nothing else is
// kept, a Secret least of all (S29).
func isCached(path string) bool {
	if path == policiesPath {
		return true
	}
	for _, of := range []string{nodesPath, leasesPath, ledgersPath} {
		if strings.HasPrefix(path, of+"/") {
			return true
		}
	}
	return false
}

// dropFromCache drops one object: it is not what it was.
func (c *Client) dropFromCache(path string) {
	c.cache.mu.Lock()
	delete(c.cache.all, path)
	c.cache.mu.Unlock()
}

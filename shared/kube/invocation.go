package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// invocation is one run of one function: its name, and since when what was seen
// counts for it.
type invocation struct {
	function string

	mu    sync.Mutex
	since time.Duration
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

type invocationKey struct{}

// Begin names one run of a function. Its looks at the node, its Lease, the ledger
// and the policies are answered from what the API server gave this process, or took
// from it, less than a second ago: one function begins where the last one has just
// looked. Without Begin, every look is a read.
func Begin(ctx context.Context, function string) context.Context {
	return context.WithValue(ctx, invocationKey{}, &invocation{function: function})
}

// Forget has this run's next looks read: after a device call, and after whatever
// somebody else answers to.
func (c *Client) Forget(ctx context.Context) {
	if inv := running(ctx); inv != nil {
		inv.mu.Lock()
		inv.since = c.clock.elapsed()
		inv.mu.Unlock()
	}
}

func running(ctx context.Context) *invocation {
	inv, _ := ctx.Value(invocationKey{}).(*invocation)
	return inv
}

// addToCache keeps an object as the API server gave it to a request that began at
// that time, unless something later is known.
func (c *Client) addToCache(ctx context.Context, path string, raw []byte, at time.Duration) {
	if running(ctx) == nil || !isCached(path) {
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
	for _, of := range []string{nodesPath, leasesPath, policiesPath, ledgersPath} {
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

// getCached is get, unless this process has seen the object a moment ago.
func getCached[T any](ctx context.Context, c *Client, path string) (*T, error) {
	out := new(T)
	if raw := c.cachedAt(ctx, path); raw != nil && json.Unmarshal(raw, out) == nil {
		return out, nil
	}
	return get[T](ctx, c, path)
}

// cachedAt is what this process has seen a moment ago; nil if this run is to read it.
func (c *Client) cachedAt(ctx context.Context, path string) []byte {
	inv := running(ctx)
	if inv == nil {
		return nil
	}
	inv.mu.Lock()
	since := inv.since
	inv.mu.Unlock()
	c.cache.mu.Lock()
	o, ok := c.cache.all[path]
	c.cache.mu.Unlock()
	if !ok || o.at < since || c.clock.elapsed()-o.at >= cacheFor {
		return nil
	}
	return o.raw
}

// named tells the API server, and its audit log, which function asks.
func named(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if inv := running(r.Context()); inv != nil {
			r = r.Clone(r.Context())
			r.Header.Set("User-Agent", r.Header.Get("User-Agent")+"/"+inv.function)
		}
		return next.RoundTrip(r)
	})
}

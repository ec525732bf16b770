package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// invocation is one run of one function: its name, and the objects that it has
// read or written in the last moment.
type invocation struct {
	function string

	mu   sync.Mutex
	seen map[string]glance
}

// glance is one object as the API server gave it.
type glance struct {
	raw []byte
	at  time.Duration
}

// glanceFor is how long what an invocation has seen need not be looked at again.
// Between any look and what is done on it time passes; this is as much as the
// requests of one turn may take anyway.
const glanceFor = time.Second

type invocationKey struct{}

// Begin gives one run of a function a memory of its own. Its looks at the node,
// its Lease, the ledger and the policies are answered from what the API server
// gave or took in this very run less than a second ago. Without Begin, every
// look is a read.
func Begin(ctx context.Context, function string) context.Context {
	return context.WithValue(ctx, invocationKey{}, &invocation{function: function, seen: map[string]glance{}})
}

// Forget has the next looks read: after a device call, and after whatever
// somebody else answers to.
func Forget(ctx context.Context) {
	if inv := running(ctx); inv != nil {
		inv.mu.Lock()
		clear(inv.seen)
		inv.mu.Unlock()
	}
}

func running(ctx context.Context) *invocation {
	inv, _ := ctx.Value(invocationKey{}).(*invocation)
	return inv
}

// remember keeps an object as the API server has just given it.
func (c *Client) remember(ctx context.Context, path string, raw []byte) {
	if inv := running(ctx); inv != nil {
		inv.mu.Lock()
		inv.seen[path] = glance{raw, c.clock.elapsed()}
		inv.mu.Unlock()
	}
}

// rememberObject is remember for one item of a list.
func (c *Client) rememberObject(ctx context.Context, path string, obj any) {
	if running(ctx) == nil {
		return
	}
	if raw, err := json.Marshal(obj); err == nil {
		c.remember(ctx, path, raw)
	}
}

// forget drops one object: it is not what it was.
func forget(ctx context.Context, path string) {
	if inv := running(ctx); inv != nil {
		inv.mu.Lock()
		delete(inv.seen, path)
		inv.mu.Unlock()
	}
}

// glimpse is get, unless this invocation has seen the object a moment ago.
func glimpse[T any](ctx context.Context, c *Client, path string) (*T, error) {
	if inv := running(ctx); inv != nil {
		inv.mu.Lock()
		g, ok := inv.seen[path]
		inv.mu.Unlock()
		if out := new(T); ok && c.clock.elapsed()-g.at < glanceFor && json.Unmarshal(g.raw, out) == nil {
			return out, nil
		}
	}
	return get[T](ctx, c, path)
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

package kube

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Together sends requests that do not need each other's answers, and returns the first error in
// their order. It sends them at once: an API server that answers a LIST from its cache first
// waits until the cache is as new as the request, and so all of them wait for that at the same
// time.
func (c *Client) Together(requests ...func() error) error {
	errs := make([]error, len(requests))
	if c.inTurn {
		for _, request := range requests {
			if err := request(); err != nil {
				return err
			}
		}
		return nil
	}
	panics := make([]any, len(requests))
	var under sync.WaitGroup
	for i, request := range requests {
		under.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panics[i] = fmt.Sprintf("%v\n%s", v, debug.Stack())
				}
			}()
			errs[i] = request()
		})
	}
	under.Wait()
	for i, err := range errs {
		if panics[i] != nil {
			panic(panics[i]) // so that the caller's handler treats it as one bad event
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachNamed reads objects by their names, all at once, and leaves out those that do not exist.
func eachNamed[T any](c *Client, names []string, read func(name string) (*T, error)) ([]T, error) {
	found := make([]*T, len(names))
	var requests []func() error
	for i, name := range names {
		requests = append(requests, func() (err error) { found[i], err = read(name); return err })
	}
	if err := c.Together(requests...); err != nil {
		return nil, err
	}
	var all []T
	for _, o := range found {
		if o != nil {
			all = append(all, *o)
		}
	}
	return all, nil
}

type besideKey struct{}

// WithBeside returns a context in which what nobody waits for is done beside the rest, and a
// function that waits until all of that has ended: a platform may stop a process as soon as
// its invocation is over.
func (c *Client) WithBeside(ctx context.Context) (_ context.Context, wait func()) {
	if c.inTurn {
		return ctx, func() {}
	}
	b := &beside{}
	return context.WithValue(ctx, besideKey{}, b), b.wait
}

// beside is what is under way beside an invocation.
type beside struct {
	under    sync.WaitGroup
	mu       sync.Mutex
	panicked any
}

// wait ends with a panic where one of them did, so that the caller's handler treats it as one
// bad event.
func (b *beside) wait() {
	b.under.Wait()
	if b.panicked != nil {
		panic(b.panicked)
	}
}

func (b *beside) do(do func()) {
	defer func() {
		if v := recover(); v != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	do()
}

// Beside does what nobody waits for: beside the rest in a context of WithBeside, and at once
// in any other.
func Beside(ctx context.Context, do func()) {
	if b, ok := ctx.Value(besideKey{}).(*beside); ok {
		b.under.Go(func() { b.do(do) })
		return
	}
	do()
}

// read sends a request for a path, or waits for one that others ask for too. It returns the answer,
// and when its request began.
func (c *Client) read(ctx context.Context, path string, do func(context.Context) rest.Result) (rest.Result, time.Duration) {
	if c.inTurn {
		at := c.clock.elapsed()
		return do(ctx), at
	}
	next := c.shared.join(ctx, path, do)
	if next == nil {
		defer c.readNext(path)
	} else if next.ended(ctx) {
		if next.panicked != nil {
			panic(next.panicked) // as in Together
		}
		return next.answer, next.at
	} else {
		c.shared.leave(next)
	}
	at := c.clock.elapsed()
	return do(ctx), at
}

// readNext begins the next request for a path, if somebody waits for it.
func (c *Client) readNext(path string) {
	s := &c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.underWay[path]
	if next == nil || next.waiting == 0 {
		delete(s.underWay, path)
		return
	}
	s.underWay[path] = nil
	go func() {
		defer c.readNext(path)
		defer close(next.done)
		defer func() {
			if v := recover(); v != nil {
				next.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		ctx, cancel := context.WithTimeout(next.ctx, requestTimeout)
		defer cancel()
		next.at = c.clock.elapsed()
		next.answer = next.do(ctx)
	}()
}

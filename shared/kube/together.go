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

// sharedReads has invocations that ask for the same object or list at the same time share a request.
// When a hundred nodes fail at once, a hundred invocations ask for the same ledger. A request is
// shared only by those who asked before it began, so that each sees what it would see by a request
// of its own.
type sharedReads struct {
	mu sync.Mutex
	// underWay has, for each path that is being read, the request that comes next; nil if nobody
	// has asked since.
	underWay map[string]*nextRead
}

// patience is how long a read waits for those of others. One whose connection hangs must not keep
// everybody waiting.
const patience = time.Second

// nextRead is a request that has not begun.
type nextRead struct {
	ctx     context.Context
	do      func(context.Context) rest.Result
	waiting int

	// answer and at, or panicked, hold once done is closed.
	answer   rest.Result
	at       time.Duration
	panicked any
	done     chan struct{}
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

// join returns the request to wait for; nil if nobody reads that path, and the caller does.
func (s *sharedReads) join(ctx context.Context, path string, do func(context.Context) rest.Result) *nextRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, busy := s.underWay[path]
	if !busy {
		if s.underWay == nil {
			s.underWay = map[string]*nextRead{}
		}
		s.underWay[path] = nil
		return nil
	}
	if next == nil {
		next = &nextRead{ctx: context.WithoutCancel(ctx), do: do, done: make(chan struct{})}
		s.underWay[path] = next
	}
	next.waiting++
	return next
}

// leave says that somebody no longer waits for a request.
func (s *sharedReads) leave(next *nextRead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.waiting--
}

// ended waits for the request, and reports whether it has ended in time.
func (n *nextRead) ended(ctx context.Context) bool {
	tooLong := time.NewTimer(patience)
	defer tooLong.Stop()
	select {
	case <-n.done:
		return true
	case <-ctx.Done(): // its own request says so
	case <-tooLong.C:
	}
	return false
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

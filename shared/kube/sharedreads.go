package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

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

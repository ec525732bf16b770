package admit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Queue has the fences of one process that ask for a slot at the same time decided on together, by one
// write of the ledger. When a hundred nodes fail at once, a hundred gates would otherwise each count the
// whole cluster, and all but one of them in vain.
//
// The first fence that asks begins a batch; a fence that asks while a batch is under way waits for the next
// one. A batch keeps nothing for the next batch, and nothing runs when nobody asks.
type Queue struct {
	// Pause is what lies between a conflict and the next try, the first, second and so on;
	// nothing, if it is nil.
	Pause func(ctx context.Context, try int)

	mu      sync.Mutex
	waiting []*waiter
	// serving: somebody commits one batch after the other until nobody waits.
	serving bool
}

// purpose is what a fence asks for.
type purpose int

const (
	forSlot purpose = iota
	// ifFull asks whether a slot is free, and takes none.
	ifFull
	// forDrain asks whether the node may be drained, and for no slot.
	forDrain
	// forChecks asks whether a round of checks may begin, and for no slot.
	forChecks
)

// waiter is one fence that asks, and waits for the answer.
type waiter struct {
	ctx context.Context
	// fence is a copy: its caller may go before the batch ends.
	fence *api.NodeFence
	node  observed.Node
	// purpose is what the fence asks for.
	purpose purpose
	// batch is the one that this fence is in; nil while it waits for one.
	batch *batch

	// answer holds once done is closed.
	answer
	done chan struct{}
}

// answer is what becomes of a waiter: its slot is reserved if all of it is nil.
type answer struct {
	verdict  *observed.Verdict
	err      error
	panicked any
}

// isRefused: no slot is reserved for it in this try, whatever the ledger's write comes to.
func isRefused(a *waiter) bool { return a.verdict != nil || a.err != nil || a.panicked != nil }

// batch are the waiters whom one write answers.
type batch struct {
	waiters []*waiter
	// here are how many of them have not left.
	here   int
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

// commit answers all waiters of a batch, unless it tells that somebody else wrote first.
type commit func(ctx context.Context, all []*waiter) (conflict bool)

// ask waits until a batch has answered. A caller whose context ends leaves: if its batch is
// under way, its slot may be reserved all the same, as by a gate that dies after its write,
// and is dropped if its fence does not go on (S14).
func (q *Queue) ask(ctx context.Context, who waiter, with commit) (*observed.Verdict, error) {
	a := &who
	a.ctx, a.done = ctx, make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, a)
	if !q.serving {
		q.serving = true
		go q.serveBatches(with)
	}
	q.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		q.removeWaiter(a)
		return nil, fmt.Errorf("wait for a slot: %w", ctx.Err())
	}
	if a.panicked != nil {
		panic(a.panicked) // in a handler, which takes it for one bad event
	}
	return a.verdict, a.err
}

// removeWaiter takes a waiter out. Who is the last of a batch ends it, and waits until it has, so
// that nothing goes on behind an invocation that is over.
func (q *Queue) removeWaiter(a *waiter) {
	q.mu.Lock()
	b := a.batch
	if b == nil {
		q.waiting = slices.DeleteFunc(q.waiting, func(o *waiter) bool { return o == a })
		q.mu.Unlock()
		return
	}
	b.here--
	last := b.here == 0
	q.mu.Unlock()
	if last {
		b.cancel()
		<-b.ended
	}
}

// serveBatches commits batches until nobody waits.
func (q *Queue) serveBatches(with commit) {
	tries := 0
	for b := q.takeBatch(); b != nil; b = q.takeBatch() {
		if with(b.ctx, b.waiters) && b.ctx.Err() == nil {
			tries++
			if q.Pause != nil {
				q.Pause(b.ctx, tries)
			}
			q.requeue(b)
		} else {
			tries = 0
			for _, a := range b.waiters {
				close(a.done)
			}
		}
		b.cancel()
		close(b.ended)
	}
}

// takeBatch makes a batch of all who wait, the fence first that was opened first, and of two the
// one whose name comes first; nil if nobody waits, and then the next who asks begins anew.
func (q *Queue) takeBatch() *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.serving = false
		return nil
	}
	b := &batch{waiters: q.waiting, here: len(q.waiting), ended: make(chan struct{})}
	q.waiting = nil
	slices.SortStableFunc(b.waiters, func(x, y *waiter) int { return admission.ByAge(x.fence, y.fence) })
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(b.waiters[0].ctx))
	for _, a := range b.waiters {
		a.batch = b
	}
	return b
}

// requeue has those of a batch who have not left wait for the next.
func (q *Queue) requeue(b *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range b.waiters {
		if a.ctx.Err() == nil {
			a.batch = nil
			q.waiting = append(q.waiting, a)
		}
	}
}

const (
	shortestPause = 20 * time.Millisecond
	longestPause  = time.Second
)

// Jitter is a pause of any length up to a most that doubles with each try, so that two
// processes that write the ledger at once do not do so for ever.
func Jitter(ctx context.Context, try int) {
	t := time.NewTimer(rand.N(min(shortestPause<<min(try, 10), longestPause)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

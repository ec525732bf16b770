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
	// Pause waits between a conflict and the next try, which is the first, second and so on. Without a Pause
	// the next try follows at once.
	Pause func(ctx context.Context, try int)

	mu      sync.Mutex
	waiting []*waiter
	// serving says that a goroutine commits one batch after the other until the queue is empty.
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
	// fence is a copy, because the caller may go before the batch ends.
	fence *api.NodeFence
	node  observed.Node
	// purpose is what the fence asks for.
	purpose purpose
	// dry: the fence is a dry run, and asks for a dry reservation.
	dry bool
	// batch is the batch of this fence; nil while the fence waits for a batch.
	batch *batch

	// answer holds once done is closed.
	answer
	done chan struct{}
}

// answer is the result for a waiter. The zero value is a yes.
type answer struct {
	verdict  *observed.Verdict
	err      error
	panicked any
}

// isRefused tells whether a waiter gets nothing in this try, whether or not the ledger is written.
func isRefused(a *waiter) bool { return a.verdict != nil || a.err != nil || a.panicked != nil }

// batch is the set of waiters that one write of the ledger answers.
type batch struct {
	waiters []*waiter
	// here is the number of waiters that have not left.
	here   int
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

// commit answers all waiters of a batch, or returns true: the ledger was written meanwhile.
type commit func(ctx context.Context, all []*waiter) (conflict bool)

// ask waits until a batch has answered. A caller whose context ends leaves. If its batch is under way, a slot
// may be reserved all the same, as by a gate that dies after the write; the slot is dropped if the fence does
// not go on (S14).
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

// removeWaiter removes a waiter whose caller leaves. The last waiter of a batch to leave ends the batch and
// waits for its end, so that nothing runs after the invocation.
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

// serveBatches commits batches until the queue is empty.
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

// takeBatch makes a batch of all waiters, ordered by the time at which their fences opened, then by name. If
// the queue is empty, it returns nil, and the next waiter starts to serve again.
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

// requeue returns the waiters of a batch to the queue, except those whose caller has left.
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

// Jitter waits for a random time. Its limit doubles with each try, so that two processes that write the ledger
// at the same time do not conflict for ever.
func Jitter(ctx context.Context, try int) {
	t := time.NewTimer(rand.N(min(shortestPause<<min(try, 10), longestPause)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

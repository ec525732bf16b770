package gate

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

// Slots has the fences of one process that wait for a slot at the same time reserved
// together, by one write of the ledger. When a hundred nodes fail at once, a hundred gates
// would otherwise each count the whole cluster, and all but one of them in vain.
//
// The first that asks begins a batch; who asks while that is under way waits for the next. A
// batch keeps nothing for the one after it, and nothing runs when nobody asks.
type Slots struct {
	// Pause is what lies between a conflict and the next try, the first, second and so on;
	// nothing, if it is nil.
	Pause func(ctx context.Context, try int)

	mu      sync.Mutex
	waiting []*asker
	// serving: somebody commits one batch after the other until nobody waits.
	serving bool
}

// asker is one fence that asks for a slot.
type asker struct {
	ctx context.Context
	// fence is a copy: its caller may go before the batch ends.
	fence *api.NodeFence
	node  observed.Node
	// drain asks whether its node may be drained, and for no slot.
	drain bool
	// looks asks whether a slot is free, and takes none.
	looks bool
	// checks asks whether a round of its checks may begin, and for no slot.
	checks bool
	// batch is the one that this fence is in; nil while it waits for one.
	batch *batch

	// answer holds once done is closed.
	answer
	done chan struct{}
}

// answer is what becomes of an asker: its slot is reserved if all of it is nil.
type answer struct {
	verdict  *observed.Verdict
	err      error
	panicked any
}

// refused: no slot is reserved for it in this try, whatever the ledger's write comes to.
func refused(a *asker) bool { return a.verdict != nil || a.err != nil || a.panicked != nil }

// batch are the askers whom one write answers.
type batch struct {
	askers []*asker
	// here are how many of them have not left.
	here   int
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
}

// commit answers all askers of a batch, unless it tells that somebody else wrote first.
type commit func(ctx context.Context, all []*asker) (conflict bool)

// ask waits until a batch has answered. A caller whose context ends leaves: if its batch is
// under way, its slot may be reserved all the same, as by a gate that dies after its write,
// and is dropped if its fence does not go on (S14).
func (s *Slots) ask(ctx context.Context, who asker, with commit) (*observed.Verdict, error) {
	a := &who
	a.ctx, a.done = ctx, make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, a)
	if !s.serving {
		s.serving = true
		go s.serve(with)
	}
	s.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		s.leave(a)
		return nil, fmt.Errorf("wait for a slot: %w", ctx.Err())
	}
	if a.panicked != nil {
		panic(a.panicked) // in a handler, which takes it for one bad event
	}
	return a.verdict, a.err
}

// leave takes an asker out. Who is the last of a batch ends it, and waits until it has, so
// that nothing goes on behind an invocation that is over.
func (s *Slots) leave(a *asker) {
	s.mu.Lock()
	b := a.batch
	if b == nil {
		s.waiting = slices.DeleteFunc(s.waiting, func(o *asker) bool { return o == a })
		s.mu.Unlock()
		return
	}
	b.here--
	last := b.here == 0
	s.mu.Unlock()
	if last {
		b.cancel()
		<-b.ended
	}
}

// serve commits batches until nobody waits.
func (s *Slots) serve(with commit) {
	tries := 0
	for b := s.take(); b != nil; b = s.take() {
		if with(b.ctx, b.askers) && b.ctx.Err() == nil {
			tries++
			if s.Pause != nil {
				s.Pause(b.ctx, tries)
			}
			s.again(b)
		} else {
			tries = 0
			for _, a := range b.askers {
				close(a.done)
			}
		}
		b.cancel()
		close(b.ended)
	}
}

// take makes a batch of all who wait, the fence first that was opened first, and of two the
// one whose name comes first; nil if nobody waits, and then the next who asks begins anew.
func (s *Slots) take() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.serving = false
		return nil
	}
	b := &batch{askers: s.waiting, here: len(s.waiting), ended: make(chan struct{})}
	s.waiting = nil
	slices.SortStableFunc(b.askers, func(x, y *asker) int { return admission.ByAge(x.fence, y.fence) })
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(b.askers[0].ctx))
	for _, a := range b.askers {
		a.batch = b
	}
	return b
}

// again has those of a batch who have not left wait for the next.
func (s *Slots) again(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range b.askers {
		if a.ctx.Err() == nil {
			a.batch = nil
			s.waiting = append(s.waiting, a)
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

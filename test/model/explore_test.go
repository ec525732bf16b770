package model

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

// scenario is a world, the code in it, and what may go wrong.
type scenario struct {
	policy      api.FencePolicy
	nodes, dead int
	code        code
	// fine are the functions for which every call is a point at which others may go first; all
	// others run in one go. At most procs of the fine ones run at once.
	fine  []string
	procs int
	// crashes: how often an invocation ends between two calls and its event comes again. doubles:
	// how often an event is delivered twice. losses: how often one never arrives.
	crashes, doubles, losses int
	// pauses: how often a call is answered late by this much, or everything stands still.
	pauses int
	pause  time.Duration
	// lengths are the lengths of the pauses, if there are several.
	lengths []time.Duration
	// apart: every second invocation follows an API server whose clock is that far ahead.
	apart time.Duration
	// hazardIn: of this many steps of a random schedule one is something that goes wrong.
	hazardIn int
	// chains: an invocation is a chain of those of several functions, each of which may hold claims.
	chains bool
	// census: two sources write what they have seen into the ledger, at any time, and late.
	census bool
	// heals: this node comes back to life, at any time.
	heals string
	// asks: a FenceRequest asks for the fence of this node, and is withdrawn at any time. again: the
	// node was fenced before, so that it has a record.
	asks  string
	again bool
	// alike: nodes that die alike begin only in the order of their names.
	alike bool
	// still are the collections that no function writes.
	still []string
	// until is when it must be over.
	until time.Duration
	// only is the one promise that is checked; empty means all.
	only promise
}

// left is what may still go wrong.
type left struct{ crashes, doubles, losses, pauses, heals, withdrawals int }

// proc is an invocation that runs.
type proc struct {
	delivery
	me string
	at *local
	// wrote says that it has changed something since the last point at which it could crash.
	wrote bool
	// ahead is how far the clock is that it follows.
	ahead time.Duration
	// listed: it has listed all fences, as a gate does that does not decide by a census.
	listed bool
}

// state is one point of one interleaving.
type state struct {
	*world
	procs []proc
	left  left
	begun int
}

func (sc *scenario) begin() *state {
	s := &state{world: newWorld(sc.nodes, sc.dead, sc.policy, sc.census), left: left{
		crashes: sc.crashes, doubles: sc.doubles, losses: sc.losses, pauses: sc.pauses,
	}}
	s.watch.only = sc.only
	if sc.heals != "" {
		s.left.heals = 1
	}
	if sc.asks != "" {
		s.left.withdrawals = 1
		s.ask(sc.asks, sc.again)
	}
	return s
}

func (s *state) clone() *state {
	return &state{world: s.world.clone(), procs: slices.Clone(s.procs), left: s.left, begun: s.begun}
}

// key tells states apart by all that can matter from here on.
func (s *state) key() digest {
	b := make([]byte, 0, 1024)
	num := func(v ...int) {
		for _, v := range v {
			b = binary.AppendVarint(b, int64(v))
		}
	}
	flag := func(v ...bool) {
		for _, v := range v {
			if v {
				num(1)
			} else {
				num(0)
			}
		}
	}
	for _, o := range s.objects {
		b = o.sum.append(b)
	}
	num(int(s.now), len(s.objects), len(s.procs), len(s.queue))
	for _, m := range s.machines {
		flag(m.on, m.hung, m.died, m.cut)
		num(int(m.since), m.boots, m.offs, m.invoked)
	}
	ids := make([]int, 0, 8)
	for _, p := range s.procs {
		id := 2 * p.at.id
		if p.wrote {
			id++
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	num(ids...)
	for _, d := range s.queue {
		b = append(append(append(b, d.node...), d.typ...), 0)
	}
	b = append(append(b, s.memory...), 0)
	num(s.left.crashes, s.left.doubles, s.left.losses, s.left.pauses, s.left.heals, s.left.withdrawals)
	return digestOf(b)
}

// over tells whether all dead nodes are dealt with, and nothing is under way.
func (s *state) over() bool {
	if len(s.procs) > 0 || len(s.queue) > 0 {
		return false
	}
	for _, m := range s.machines {
		f := s.fence(m.node)
		if m.died && (f == nil && m.dead() || m.cut || f != nil && f.Open() && f.CurrentPhase() != api.Fenced) {
			return false
		}
		if o := s.asked(m.node); o != nil && (!ask.Ended(o) || f != nil && f.Open()) {
			return false
		}
	}
	return true
}

// explorer goes through every interleaving of one scenario.
type explorer struct {
	scenario
	code *codebase
	// paths counts the interleavings from each state on.
	paths       map[digest]float64
	total       float64
	moves, deep int
	// trace leads to the present state; failed is the one of the first fault.
	trace  []string
	watch  watch
	failed []string
	// tell, if set, is called with who does what.
	tell func(who, what string)
}

func newExplorer(sc scenario) *explorer {
	return &explorer{scenario: sc, code: newCodebase(sc.code), paths: map[digest]float64{}}
}

func explore(sc scenario) *explorer {
	x := newExplorer(sc)
	defer x.code.close()
	x.total = x.visit(sc.begin())
	return x
}

// visit continues from s in every way, and returns how many ways there are.
func (x *explorer) visit(s *state) float64 {
	k := s.key()
	if n, ok := x.paths[k]; ok {
		return n
	}
	x.paths[k] = 0
	x.deep = max(x.deep, len(x.trace))
	if x.settled(s) {
		x.paths[k] = 1
		return 1
	}
	sum := 0.0
	for _, m := range x.options(s) {
		if x.watch.broken != "" {
			break
		}
		c := s.clone()
		x.trace = append(x.trace, m.id)
		m.do(c)
		x.moves++
		sum += x.visit(c)
		x.trace = x.trace[:len(x.trace)-1]
	}
	x.paths[k] = sum
	return sum
}

// settled tells whether s is an end, good or bad.
func (x *explorer) settled(s *state) bool {
	if len(x.trace) > endless {
		s.watch.found(served, "it goes on for ever and no time passes")
	}
	if s.finished(x.until) || len(x.trace) > endless {
		if s.watch.broken != "" {
			x.watch, x.failed = s.watch, slices.Clone(x.trace)
		}
		return true
	}
	return false
}

// endless is longer than any schedule that comes to an end.
const endless = 2000

// finished ends a schedule, and checks what was promised for the end.
func (s *state) finished(until time.Duration) bool {
	switch {
	case s.watch.broken != "":
		return true
	case s.over(), s.now > until:
		s.watch.ended(s.world)
		return true
	}
	return false
}

func (x *explorer) String() string {
	return fmt.Sprintf("%d states, %d steps between them, %.3g interleavings of up to %d steps; the code was run %d times",
		len(x.paths), x.moves, x.total, x.deep, x.code.runs)
}

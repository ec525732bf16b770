package model

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/functions/gate"
)

// digest tells contents apart.
type digest [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func digestOf(parts ...[]byte) digest {
	var d digest
	for i, s := range seeds {
		var h maphash.Hash
		h.SetSeed(s)
		for _, p := range parts {
			_, _ = h.Write(p)
		}
		d[i] = h.Sum64()
	}
	return d
}

// local is where one process stands: a function of the answers that it got. It
// is found by running the real code on those answers, once.
type local struct {
	id     int
	parent *local
	answer answer
	// asks is the call that it makes next; nil when it has ended.
	asks *request
	end  end
	next map[digest]*local
}

// codebase runs the code, and keeps what came of it.
type codebase struct {
	gate  gates
	roots map[string]*local
	runs  int
}

// begin is a process at its first call.
func (c *codebase) begin(d delivery, at time.Duration) *local {
	k := fmt.Sprint(d, at)
	if c.roots[k] == nil {
		c.roots[k] = c.run(d, &local{answer: answer{got: at}})
	}
	return c.roots[k]
}

// after is that process once it has this answer.
func (c *codebase) after(d delivery, l *local, a answer) *local {
	var times [20]byte
	binary.LittleEndian.PutUint64(times[:], uint64(a.date))
	binary.LittleEndian.PutUint64(times[8:], uint64(a.got))
	binary.LittleEndian.PutUint32(times[16:], uint32(a.code))
	k := digestOf(times[:], a.body)
	n := l.next[k]
	if n == nil {
		n = c.run(d, &local{parent: l, answer: a})
		if l.next == nil {
			l.next = map[digest]*local{}
		}
		l.next[k] = n
	}
	return n
}

// run runs the code from its beginning on the answers that lead to l.
func (c *codebase) run(d delivery, l *local) *local {
	c.runs++
	l.id = c.runs
	var log []answer
	for m := l; m.parent != nil; m = m.parent {
		log = append(log, m.answer)
	}
	slices.Reverse(log)
	root := l
	for root.parent != nil {
		root = root.parent
	}
	now, i := root.answer.got, 0
	l.end = process{me: gate.Name, now: func() time.Duration { return now }, call: func(r request) (answer, error) {
		if i >= len(log) {
			if l.asks == nil {
				l.asks = &r
			}
			return answer{}, errGone
		}
		now = log[i].got
		i++
		return log[i-1], nil
	}}.do(d, c.gate)
	return l
}

// proc is a gate at work.
type proc struct {
	delivery
	at   *local
	view view
	// wrote: the last call that it made changed something.
	wrote bool
}

// scenario is a world, and what may go wrong in it.
type scenario struct {
	world func() *world
	gate  gates
	// gates run at once, at most.
	gates int
	// crashes: a gate ends between two calls; its event is delivered again or,
	// where it may be lost, is not. doubles: an event is delivered twice.
	crashes, lost, doubles int
	// pauses: between two calls time passes, with or without the source at work.
	pauses []pause
	// turns of fate come in this order, each at any time.
	fate []turn
	// losses of the ledger, while no gate is at work.
	losses int
	// until is when it must be over.
	until time.Duration
	// over: nothing more of interest happens.
	over func(w *world) bool
}

type pause struct {
	length time.Duration
	// alone: the source stands still too.
	alone bool
}

type turn struct {
	name string
	do   func(w *world)
}

// left is what may still go wrong.
type left struct {
	crashes, lost, doubles, losses, fate int
	pauses                               int
}

// state is one point of one interleaving.
type state struct {
	*world
	procs []proc
	left  left
}

func (s *state) clone() *state {
	return &state{world: s.world.clone(), procs: slices.Clone(s.procs), left: s.left}
}

// key tells states apart by all that can matter from here on.
func (s *state) key() digest {
	var b []byte
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
	for _, p := range s.paths {
		sum := s.objects[p].sum
		b = binary.LittleEndian.AppendUint64(b, sum[0])
		b = binary.LittleEndian.AppendUint64(b, sum[1])
	}
	num(int(s.now), s.lost, len(s.procs), len(s.queue))
	for _, n := range s.names() {
		m := s.machines[n]
		flag(m.on, m.hung, s.watch.cutting[n])
		num(int(m.since), m.boots, s.watch.offs[n])
	}
	procs := slices.Clone(s.procs)
	slices.SortFunc(procs, func(a, b proc) int { return a.at.id - b.at.id })
	for _, p := range procs {
		num(p.at.id)
		flag(p.wrote, p.view.picture, p.view.storm, p.view.calm)
	}
	for _, d := range s.queue {
		b = append(append(b, d.node...), d.typ...)
	}
	b = fmt.Append(b, s.left)
	return digestOf(b)
}

// explorer goes through every interleaving of one scenario.
type explorer struct {
	scenario
	code *codebase
	// paths counts the interleavings from each state on.
	paths map[digest]float64
	moves int
	depth int
	// trace leads to the present state; fault and story are of the first fault.
	trace []string
	fault string
	story []string
}

func explore(sc scenario) *explorer {
	x := &explorer{scenario: sc, code: &codebase{gate: sc.gate, roots: map[string]*local{}}, paths: map[digest]float64{}}
	s := &state{world: sc.world(), left: left{
		crashes: sc.crashes, lost: sc.lost, doubles: sc.doubles, losses: sc.losses, pauses: len(sc.pauses), fate: len(sc.fate),
	}}
	x.visit(s)
	return x
}

// visit goes on from s in every way, and returns how many there are.
func (x *explorer) visit(s *state) float64 {
	k := s.key()
	if n, ok := x.paths[k]; ok {
		return n
	}
	x.paths[k] = 0
	x.depth = max(x.depth, len(x.trace))
	switch {
	case s.watch.broken != "":
		x.found(s.watch.broken)
	case x.over != nil && x.over(s.world):
	case s.now > x.until:
		if x.over != nil {
			x.found("after " + s.now.String() + " not all dead nodes are served")
		}
	default:
		sum := 0.0
		for _, m := range x.options(s) {
			if x.fault != "" {
				break
			}
			c := s.clone()
			x.trace = append(x.trace, m.name)
			m.do(c)
			x.moves++
			sum += x.visit(c)
			x.trace = x.trace[:len(x.trace)-1]
		}
		x.paths[k] = sum
		return sum
	}
	x.paths[k] = 1
	return 1
}

func (x *explorer) found(fault string) {
	if x.fault == "" {
		x.fault, x.story = fault, slices.Clone(x.trace)
	}
}

func (x *explorer) String() string {
	return fmt.Sprintf("%d states, %d steps, %.3g interleavings of up to %d steps; the code was run %d times",
		len(x.paths), x.moves, x.paths[x.first()], x.depth, x.code.runs)
}

func (x *explorer) first() digest {
	s := &state{world: x.world(), left: left{
		crashes: x.crashes, lost: x.lost, doubles: x.doubles, losses: x.losses, pauses: len(x.pauses), fate: len(x.fate),
	}}
	return s.key()
}

func (x *explorer) tale() string { return strings.Join(x.story, "\n\t") }

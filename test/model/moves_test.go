package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/functions/gate"
)

// option is one thing that can happen next.
type option struct {
	name string
	do   func(s *state)
}

// options are all that can happen in s.
func (x *explorer) options(s *state) []option {
	var all []option
	for i, p := range s.procs {
		all = append(all, option{fmt.Sprintf("gate of %s: %v", p.node, p.at.asks), func(s *state) { x.step(s, i, pause{}) }})
		if n := len(x.pauses) - s.left.pauses; s.left.pauses > 0 {
			z := x.pauses[n]
			all = append(all, option{fmt.Sprintf("gate of %s: %v, answered after %v", p.node, p.at.asks, z.length), func(s *state) {
				s.left.pauses--
				x.step(s, i, z)
			}})
		}
		if p.wrote && s.left.crashes > 0 {
			all = append(all, option{"gate of " + p.node + " dies", func(s *state) {
				s.left.crashes--
				s.procs = slices.Delete(s.procs, i, i+1)
				s.send(p.delivery)
			}})
		}
		if p.wrote && s.left.lost > 0 {
			all = append(all, option{"gate of " + p.node + " dies with its event", func(s *state) {
				s.left.lost--
				s.procs = slices.Delete(s.procs, i, i+1)
			}})
		}
	}
	all = append(all, x.deliveries(s)...)
	if len(s.procs) > 0 && s.left.pauses > 0 {
		z := x.pauses[len(x.pauses)-s.left.pauses]
		all = append(all, option{fmt.Sprint(z.length, " pass"), func(s *state) {
			s.left.pauses--
			z.pass(s)
		}})
	}
	if s.left.fate > 0 {
		t := x.fate[len(x.fate)-s.left.fate]
		all = append(all, option{t.name, func(s *state) {
			s.left.fate--
			t.do(s.world)
		}})
	}
	if len(s.procs) == 0 && len(s.queue) == 0 {
		all = append(all, option{fmt.Sprint("time passes, until ", s.due()), func(s *state) {
			s.pass(s.due())
			s.notice()
		}})
		if s.left.losses > 0 {
			all = append(all, option{"the ledger is lost", func(s *state) {
				s.left.losses--
				s.remove(theLedger)
				s.pass(s.due())
				s.notice()
			}})
		}
	}
	return all
}

func (x *explorer) deliveries(s *state) []option {
	var all []option
	for i, d := range s.queue {
		if i > 0 && s.queue[i-1] == d {
			continue
		}
		name := "event " + strings.TrimPrefix(d.typ, "io.nodefence.") + " of " + d.node
		take := func(s *state, twice bool) {
			if !twice {
				s.queue = slices.Delete(s.queue, i, i+1)
			} else {
				s.left.doubles--
			}
			x.start(s, d)
		}
		if d.owner() == gate.Name && len(s.procs) == x.gates {
			continue
		}
		all = append(all, option{name, func(s *state) { take(s, false) }})
		if s.left.doubles > 0 {
			all = append(all, option{name + ", the first of two", func(s *state) { take(s, true) }})
		}
	}
	return all
}

// start delivers an event. A gate makes its first call with it, since until then
// it is as if the event were still on its way. The other functions decide by
// nothing that a gate writes besides their own record: they run in one go.
func (x *explorer) start(s *state, d delivery) {
	if d.owner() == gate.Name {
		s.procs = append(s.procs, proc{delivery: d, at: x.code.begin(d, s.now)})
		x.step(s, len(s.procs)-1, pause{})
		return
	}
	e := process{call: func(r request) (answer, error) { return s.exec(r), nil }, now: s.clock, me: d.owner()}.do(d, nil)
	if e.err != nil {
		s.watch.fault("%s fails: %v", d.owner(), e.err)
	}
	s.send(e.reply)
}

// step makes a gate's next call, and those after it that nobody can notice.
func (x *explorer) step(s *state, i int, z pause) {
	p := &s.procs[i]
	for first := true; first || x.private(p); first = false {
		r := *p.at.asks
		done := p.view.asks(s.world, r, p.node)
		a := s.exec(r)
		done()
		if first && z.length > 0 {
			z.pass(s)
			a.got = s.now
		}
		p.wrote = r.writes() || p.wrote && !first
		p.at = x.code.after(p.delivery, p.at, a)
	}
	if p.at.asks != nil {
		return
	}
	e, d := p.at.end, p.delivery
	s.procs = slices.Delete(s.procs, i, i+1)
	if e.err != nil {
		e.reply = d // the broker delivers it again
	}
	s.send(e.reply)
}

// private: the next call reads what nobody writes in any scenario.
func (x *explorer) private(p *proc) bool {
	return p.at.asks != nil && !p.at.asks.writes() && strings.HasPrefix(p.at.asks.path+"/", policies)
}

// pass is a stretch in which nothing that runs gets on.
func (z pause) pass(s *state) {
	if z.alone {
		s.now += z.length
		return
	}
	s.world.pass(s.now + z.length)
	s.notice()
}

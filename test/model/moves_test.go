package model

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/functions/power"
	"github.com/nodefence/nodefence/shared/admission"
)

// option is one thing that can happen next.
type option struct {
	// id names it for a replay; hazard says that it is something that goes wrong.
	id     string
	hazard bool
	do     func(s *state)
}

// options are all that can happen in s, with what goes well first.
func (x *explorer) options(s *state) []option {
	var well, ill []option
	for i, p := range s.procs {
		id := p.name()
		well = append(well, option{id: id, do: func(s *state) { x.step(s, i, 0) }})
		for _, long := range x.pausing(s) {
			ill = append(ill, option{x.paused("late", long) + " " + id, true, func(s *state) {
				s.left.pauses--
				x.step(s, i, long)
			}})
		}
		if p.wrote && s.left.crashes > 0 {
			ill = append(ill, option{"crash " + id, true, func(s *state) {
				s.left.crashes--
				s.procs = slices.Delete(s.procs, i, i+1)
				s.memory = ""
				s.send(p.delivery)
			}})
		}
	}
	for i, d := range s.queue {
		if i > 0 && s.queue[i-1] == d {
			continue
		}
		w, h := x.deliver(s, i, d)
		well, ill = append(well, w...), append(ill, h...)
	}
	for _, long := range x.pausing(s) {
		ill = append(ill, option{x.paused("stop", long), true, func(s *state) {
			s.left.pauses--
			s.world.pass(s.now + long)
		}})
	}
	if s.left.heals > 0 {
		ill = append(ill, option{"heal " + x.heals, true, func(s *state) {
			s.left.heals--
			s.heal(x.heals)
		}})
	}
	if s.left.withdrawals > 0 {
		ill = append(ill, option{"withdraw " + x.asks, true, func(s *state) {
			s.left.withdrawals--
			s.withdraw(x.asks)
		}})
	}
	if s.counts {
		for i := range s.views {
			ill = append(ill, option{fmt.Sprint("source ", i, " sees"), true, func(s *state) { s.see(i) }},
				option{fmt.Sprint("source ", i, " writes"), true, func(s *state) { s.census(i) }})
		}
		ill = append(ill, option{"source 0 hangs, or goes on", true, func(s *state) { s.hangs = !s.hangs }},
			option{"the census is lost", true, func(s *state) { s.lose() }})
	}
	if len(s.procs) == 0 && len(s.queue) == 0 {
		well = append(well, option{id: "time", do: func(s *state) {
			s.pass(s.due())
			s.notice()
		}})
	}
	return append(well, ill...)
}

// pausing are the lengths that a pause may have now.
func (x *explorer) pausing(s *state) []time.Duration {
	switch {
	case s.left.pauses == 0:
		return nil
	case len(x.lengths) > 0:
		return x.lengths
	}
	return []time.Duration{x.pause}
}

// paused names a pause for a replay.
func (x *explorer) paused(what string, long time.Duration) string {
	if len(x.lengths) == 0 {
		return what
	}
	return what + " " + long.String()
}

// deliver returns the ways in which an event arrives, or does not.
func (x *explorer) deliver(s *state, i int, d delivery) (well, ill []option) {
	if !x.isFine(d) || len(s.procs) < x.procs && x.inTurn(s, d.node) {
		well = append(well, option{id: d.String(), do: func(s *state) {
			s.queue = slices.Delete(s.queue, i, i+1)
			x.start(s, d)
		}})
		if s.left.doubles > 0 && x.isFine(d) {
			ill = append(ill, option{"twice " + d.String(), true, func(s *state) {
				s.left.doubles--
				x.start(s, d)
			}})
		}
	}
	if s.left.losses > 0 {
		ill = append(ill, option{"lose " + d.String(), true, func(s *state) {
			s.left.losses--
			s.queue = slices.Delete(s.queue, i, i+1)
		}})
	}
	return well, ill
}

func (x *explorer) isFine(d delivery) bool { return slices.Contains(x.fine, d.owner()) }

// name tells an invocation from the others in a schedule.
func (p proc) name() string { return p.me + " on " + p.delivery.String() }

// inTurn: nodes that died alike differ in their names alone, so of the schedules that differ only
// in which of them is which, the one in which they begin in order of name stands for all.
func (x *explorer) inTurn(s *state, node string) bool {
	return !x.alike || !slices.ContainsFunc(s.machines, func(m machine) bool {
		return m.died && m.node < node && m.invoked == 0
	})
}

// start delivers an event. The function then makes its first call, because until that call the
// event is as good as still on its way.
func (x *explorer) start(s *state, d delivery) {
	me, m := d.owner(), s.machine(d.node)
	claims := me == power.Name || x.chains
	if claims || m.invoked == 0 {
		m.invoked++
	}
	if claims {
		me = fmt.Sprint(me, " ", d.node, m.invoked) // this tells who holds a claim
	}
	s.procs = append(s.procs, proc{delivery: d, me: me, at: x.code.begin(d, me, s.now), ahead: x.apart * time.Duration(s.begun%2)})
	s.begun++
	x.step(s, len(s.procs)-1, 0)
}

// step makes an invocation's next call, and those after it that nobody can notice. A device is sent
// its request at once when the process is connected and has checked the time: of what may pass in
// between all passes before the check.
func (x *explorer) step(s *state, i int, late time.Duration) {
	p := &s.procs[i]
	p.wrote = false
	for first := true; p.at.asks != nil && (first || !x.isFine(p.delivery) || x.private(s, i)); {
		r := *p.at.asks
		x.mayWrite(r)
		a := s.does(p, r)
		a.date += p.ahead
		if x.tell != nil {
			x.tell(fmt.Sprintf("%s on %s", p.me, p.node), inWords(r, a))
		}
		connected := strings.HasPrefix(r.path, connections)
		if first && !connected && late > 0 {
			s.world.pass(s.now + late)
			a.got = s.now
		}
		p.wrote = p.wrote || r.writes()
		p.at = x.code.after(p, a)
		first = first && connected && p.at.asks != nil && strings.HasPrefix(p.at.asks.path, machineRoom)
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

// does is a call of an invocation. Where it reserves a slot, that counts by what it has read.
func (s *state) does(p *proc, r request) answer {
	if p.listed = p.listed || r.method == http.MethodGet && r.path+"/" == fences; !r.writes() || !strings.HasPrefix(r.path, theLedger) {
		return s.exec(r)
	}
	was := s.reservedAt(p.node)
	a := s.exec(r)
	switch is := s.reservedAt(p.node); {
	case is == nil || was != nil && was.Equal(*is):
	case p.listed:
		s.byLists++
	default:
		s.byCensus++
	}
	return a
}

// reservedAt is when the node's fence was given its slot; nil if it has none.
func (s *state) reservedAt(node string) *time.Time {
	if f := s.fence(node); f != nil {
		return admission.ReservedAt(s.ledger(), f)
	}
	return nil
}

// private tells whether the next call is a read whose answer is the same whenever it is made, as
// long as this invocation runs.
func (x *explorer) private(s *state, i int) bool {
	p := s.procs[i]
	r := p.at.asks
	if r.writes() || s.left.pauses > 0 || s.left.heals > 0 {
		return false
	}
	if x.isStill(r.path) {
		return true
	}
	// Its own record is written by invocations about its own node only, of which
	// there is no other, nor an event that would make one.
	return r.path == fences+p.node &&
		!slices.ContainsFunc(s.queue, func(d delivery) bool { return d.node == p.node }) &&
		!slices.ContainsFunc(s.procs, func(o proc) bool { return o.node == p.node && o != p })
}

func (x *explorer) isStill(path string) bool {
	return slices.ContainsFunc(x.still, func(c string) bool { return strings.HasPrefix(path+"/", c) })
}

// mayWrite checks that no function writes what the scenario says is not written.
func (x *explorer) mayWrite(r request) {
	if r.writes() && x.isStill(r.path) {
		panic("the scenario says that nobody writes " + r.path)
	}
}

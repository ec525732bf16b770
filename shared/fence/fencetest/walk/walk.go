package walk

import (
	"maps"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk visits every state that Decide can reach under every look that the
// world can give it, hostile ones included, and checks the promises on each
// step. Times are kept as they are in one representative of each state; two
// states are the same if all their times stand on the same side of every limit
// that they are compared with.

// Decider is Decide, or a broken twin of it.
type Decider func(*api.NodeFence, observed.Look, time.Time) (api.NodeFenceStatus, fence.Action)

// walker visits states and collects what is wrong.
type walker struct {
	decide            Decider
	seen              map[string]bool
	answered          map[string]bool // states that answersAgain has followed
	queue             []*State
	decisions, visits int
	edges             map[string]bool
	broken            map[string]string // promise → where
	met               met
	// wants is the promise whose breaking ends the walk.
	wants string
	// hunts: it takes one look in so many, and every other time goes on from where it
	// came last, so that it is soon deep in a fence; 0: the walk itself.
	hunts int
	live  bool
	// most states that are visited; 0: all.
	most int
	// levels: nodes of two levels are visited too.
	levels bool
	// gate says which requests may join.
	gate Gate
	// record, after and next belong to the step that is being taken, looks to the state: each is made
	// once for the whole walk, because millions of them would keep the collector busy.
	record api.NodeFence
	after  api.NodeFenceStatus
	next   State
	looks  []look
}

func newWalker(d Decider, o Options) *walker {
	w := &walker{decide: d, seen: map[string]bool{}, answered: map[string]bool{}, edges: map[string]bool{}, broken: map[string]string{}, met: newMet(), live: o.Live, levels: o.Levels,
		hunts: o.Few, most: o.Most, wants: o.Wants, gate: o.Gate}
	if w.gate.Ends == nil {
		w.gate.Ends = fence.Ends
	}
	if w.gate.Join == nil {
		w.gate.Join = fence.Join
	}
	if w.gate.Open == nil {
		w.gate.Open = fence.Opening
	}
	return w
}

func (w *walker) begin(from ...State) {
	for _, s := range from {
		w.push(&s)
	}
}

func (w *walker) walk() {
	levels := specs.Levels()
	for len(w.queue) > 0 && !w.found() && (w.most == 0 || w.visits < w.most) {
		s := w.take()
		if mayBeGentle(s) {
			two := *s
			two.spec = gentle(s.spec)
			w.push(&two)
		}
		var two *State
		if w.levels && s.spec.Decision.Power(0) != nil && !s.checked() && !climbed(s) && s.st.Restarts == 0 && s.spec.Decision.Asker() == nil && !s.isEarly() && s.spec.Decision.Settings.Action.Device() && s.st.Phase == api.Fencing {
			levelled := *s
			fencetest.Powered(&levelled.spec.Decision, *s.spec.Decision.Power(0), levels.Decision.PowerLevels()[1])
			two = &levelled
		}
		before := w.decisions
		w.looks = looks(s, w.looks[:0])
		for i := range w.looks {
			if w.hunts > 0 && (i+w.visits)%w.hunts != 0 {
				continue
			}
			w.step(s, &w.looks[i])
			if two != nil {
				w.step(two, &w.looks[i])
			}
		}
		w.met.decisions[s.st.Phase] += w.decisions - before
		w.requestsCome(s)
		if w.live && w.visits%16 == 0 {
			w.liveness(s)
		}
		if w.live && s.sh.cut {
			w.answersAgain(s)
		}
		w.visits++
	}
}

// found: what is looked for is broken.
func (w *walker) found() bool { return w.wants != "" && w.broken[w.wants] != "" }

// take is the state to be visited next: the one that was found first, or last.
func (w *walker) take() *State {
	n := len(w.queue) - 1
	s := w.queue[n]
	if w.hunts > 0 && w.visits%2 == 0 {
		w.queue = w.queue[:n]
		return s
	}
	s = w.queue[0]
	w.queue[0], w.queue = nil, w.queue[1:]
	return s
}

func (w *walker) push(s *State) {
	k := key(s)
	if !w.seen[k] {
		w.seen[k] = true
		stays := *s
		w.queue = append(w.queue, &stays)
	}
}

// add takes in what another walk has seen.
func (w *walker) add(x *walker) {
	w.decisions += x.decisions
	maps.Copy(w.seen, x.seen)
	maps.Copy(w.edges, x.edges)
	maps.Copy(w.broken, x.broken)
	w.met.add(&x.met)
}

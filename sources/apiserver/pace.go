package apiserver

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// pace gives nodes their turns to have a device read: one each interval for each
// device, spread evenly over it and never closer than leastApart. Who was not looked at
// for longer than that when the lead began, or never, or is asked for by a person, has
// its turn at once (see urgent). Time is an input.
//
// A turn is written into the ledger before the check is asked for, with the picture
// that is written anyway: so checks cost the ledger no write of their own, and a
// fence sees there whether its node's device may be being read (S7).
type pace struct {
	every time.Duration
	// at is when the next turn begins, soon when the next one of those that are urgent.
	at, soon time.Time
	// began is when the first turn could be given.
	began time.Time
	// asked are the turns that were asked for and have come to nothing yet.
	asked map[string]time.Time
	// waiting are given and not asked for yet; given is since when each node had its
	// last one; shown is what stands in the ledger of them.
	waiting []turn
	given   map[string]time.Time
	shown   map[string]time.Time
}

// turn is one node's.
type turn struct {
	node, uid string
	at, until time.Time
	// known: it stands in the ledger.
	known bool
}

// candidate is a node that may be checked now.
type candidate struct {
	node, uid string
	// devices that it has, one at least; oldest is when the one was read that was
	// not read for longest, latest when anything of the node was looked at.
	devices        int
	oldest, latest time.Time
	// now: a person asks for it.
	now bool
}

const (
	// leastApart are two turns, however many nodes there are.
	leastApart = time.Second
	// urgentApart are two of those that are urgent: 100 devices within a minute.
	urgentApart = 400 * time.Millisecond
	// atATime is how many checks may be under way: devices that hang must leave the
	// functions free for fences (S7).
	atATime = 8
	// answersIn is how long a check may be under way: its read takes 20 s at most.
	answersIn = 25 * time.Second
	// askAgain is how long after a turn that came to nothing a node of which nothing is
	// known yet has another.
	askAgain = 2 * time.Minute
	// lateness is how long after its time a turn is still asked for.
	lateness = 15 * time.Second
)

func newPace(every time.Duration, shown []api.NodeTurn) *pace {
	p := &pace{every: every, asked: map[string]time.Time{}, given: map[string]time.Time{}, shown: map[string]time.Time{}}
	for _, t := range shown {
		p.shown[t.NodeName] = t.Until.Time // of a leader before this one
	}
	return p
}

// give hands out the turns that begin until ahead from now, to whom waited longest.
func (p *pace) give(now time.Time, ahead time.Duration, all []candidate) {
	if p.at.Before(now) {
		p.at = now
	}
	if p.soon.Before(now) {
		p.soon = now
	}
	if p.began.IsZero() {
		p.began = now
	}
	devices := 0
	for _, c := range all {
		devices += max(1, c.devices)
	}
	if devices == 0 {
		return
	}
	step := max(leastApart, p.every/time.Duration(devices))
	for p.soon.Before(now.Add(ahead)) {
		urgent := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !p.urgent(c, now) })
		if len(urgent) == 0 {
			break
		}
		p.turn(p.first(urgent), p.soon)
		p.at = later(p.at, p.soon.Add(step))
		p.soon = p.soon.Add(urgentApart)
	}
	for p.at.Before(now.Add(ahead)) {
		p.turn(p.first(all), p.at)
		p.at = p.at.Add(step)
	}
}

// urgent: it was not looked at within an interval when the lead began, or never, or a
// person asks for it. A turn that came to nothing is given again a while later, where
// nothing is known yet or a person waits: its function may have been on its way up.
func (p *pace) urgent(c candidate, now time.Time) bool {
	given, had := p.given[c.node]
	switch {
	case had && given.After(c.latest):
		return c.now && now.Sub(given) > api.CheckTurn || c.oldest.IsZero() && now.Sub(given) > askAgain
	case c.now:
		return true
	}
	return c.oldest.Before(p.began.Add(-p.every))
}

// first is who comes first: who is asked for, and then who waited longest.
func (p *pace) first(all []candidate) candidate {
	rank := func(c candidate) int {
		if c.now && p.urgent(c, p.soon) {
			return 0
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(rank(a)-rank(b), p.waited(a).Compare(p.waited(b)), cmp.Compare(a.node, b.node))
	})
}

func (p *pace) turn(c candidate, at time.Time) {
	t := turn{node: c.node, uid: c.uid, at: at, until: at.Add(api.CheckTurn)}
	p.waiting = append(p.waiting, t)
	p.given[c.node], p.shown[c.node] = t.at, t.until
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// waited is since when a node waits: a turn that came to nothing was one too.
func (p *pace) waited(c candidate) time.Time {
	if given := p.given[c.node]; given.After(c.latest) {
		return given
	}
	return c.oldest
}

// ledger is what is to stand there, where this stands: every turn that is not over, of
// whoever gave it, and so that one which was lost stands there again. One for which there
// is no room is not asked for. It is nil where nothing is to change.
func (p *pace) ledger(now time.Time, stands []api.NodeTurn) []api.NodeTurn {
	over := func(until time.Time) bool { return now.Sub(until) > clocksDiffer }
	maps.DeleteFunc(p.shown, func(_ string, until time.Time) bool { return over(until) })
	all := slices.DeleteFunc(slices.Clone(stands), func(t api.NodeTurn) bool { return over(t.Until.Time) })
	at := map[string]int{}
	for i, t := range all {
		at[t.NodeName] = i
	}
	for _, node := range slices.SortedFunc(maps.Keys(p.shown), func(a, b string) int {
		return cmp.Or(p.shown[a].Compare(p.shown[b]), cmp.Compare(a, b))
	}) {
		t := api.NodeTurn{NodeName: node, Until: *stamp(p.shown[node])}
		if i, ok := at[node]; ok {
			all[i].Until.Time = later(all[i].Until.Time, t.Until.Time)
		} else if len(all) < api.MaxTurns {
			all = append(all, t)
		}
	}
	if equality.Semantic.DeepEqual(all, stands) {
		return nil
	}
	if all == nil {
		all = []api.NodeTurn{}
	}
	return all
}

// written: this stands there.
func (p *pace) written(stands []api.NodeTurn) {
	until := map[string]time.Time{}
	for _, t := range stands {
		until[t.NodeName] = t.Until.Time
	}
	for i := range p.waiting {
		t := &p.waiting[i]
		t.known = t.known || !until[t.node].Before(stamp(t.until).Time)
	}
}

// due takes the turns that begin now, as many as may be under way at a time; one that
// the ledger or they did not leave the time for is dropped, and its node waits as before.
func (p *pace) due(now time.Time) (all []turn) {
	for node, at := range p.asked {
		if now.Sub(at) > answersIn {
			delete(p.asked, node)
		}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(t turn) bool {
		late := now.Sub(t.at) > lateness
		switch {
		case late:
			if p.given[t.node].Equal(t.at) {
				delete(p.given, t.node)
			}
			return true
		case t.at.After(now) || !t.known || len(p.asked) >= atATime:
			return false
		}
		p.asked[t.node] = now
		all = append(all, t)
		return true
	})
	return all
}

// answered: something of the node was looked at then.
func (p *pace) answered(node string, at time.Time) {
	if asked, ok := p.asked[node]; ok && at.Add(clocksDiffer).After(asked) {
		delete(p.asked, node)
	}
}

// clocksDiffer is more than two ideas of the API server's time do.
const clocksDiffer = 2 * time.Second

// forget drops nodes that are gone.
func (p *pace) forget(exists func(node string) bool) {
	for node := range p.given {
		if !exists(node) {
			delete(p.given, node)
		}
	}
}

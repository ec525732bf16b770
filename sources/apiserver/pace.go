package apiserver

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

// pace gives nodes their turns to have a device read: one turn in each interval for each
// device, spread evenly, and never closer than leastApart. Some nodes have their turn at
// once (see urgent). Time is an input.
//
// A turn is written into the ledger before its check is sent. It is written together with
// the picture, so checks cost the ledger no write of their own. A fence reads there whether
// its node's device may be under a read at this moment (S7: one call to a device at a time).
type pace struct {
	every time.Duration
	// at is when the next turn begins; soon is when the next urgent turn begins.
	at, soon time.Time
	// began is when the first turn could be given.
	began time.Time
	// asked has the checks that were sent and have no result yet.
	asked map[string]time.Time
	// waiting has the turns that are given, but whose checks are not sent yet. given has
	// the start of each node's last turn. shown has the end of each turn that the ledger
	// should hold.
	waiting []turn
	given   map[string]time.Time
	shown   map[string]time.Time
}

// turn is the time in which one node's devices may be checked.
type turn struct {
	node, uid string
	at, until time.Time
	// known says that the ledger holds the turn.
	known bool
}

// candidate is a node that may be checked now.
type candidate struct {
	node, uid string
	// devices is how many devices the node has, at least 1. oldest is the earliest of the
	// times at which each device was last read. latest is when any device of the node was
	// last looked at.
	devices        int
	oldest, latest time.Time
	// now says that a person asks for a check; stale, that other ConfigMaps were resolved.
	now, stale bool
}

const (
	// leastApart is the time between two turns, however many nodes there are.
	leastApart = time.Second
	// urgentApart is the time between two urgent turns: 100 devices take less than a
	// minute.
	urgentApart = 400 * time.Millisecond
	// atATime bounds the checks under way: devices that hang must leave functions free (S7).
	atATime = 8
	// answersIn is how long a check may be under way: its read takes 20 s at most.
	answersIn = 25 * time.Second
	// askAgain is the pause after a turn without a result, if nothing is known of the node.
	askAgain = 2 * time.Minute
	// lateness is how late after the start of its turn a check is still sent.
	lateness = 15 * time.Second
)

func newPace(every time.Duration, shown []api.NodeTurn) *pace {
	p := &pace{every: every, asked: map[string]time.Time{}, given: map[string]time.Time{}, shown: map[string]time.Time{}}
	for _, t := range shown {
		p.shown[t.NodeName] = t.Until.Time // turns of an earlier leader
	}
	return p
}

// give hands out the turns that begin before now+ahead, to the nodes that waited longest.
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

// urgent reports whether a node has its turn at once: a person asks for a check, or the node
// was not looked at within one interval before the lead began, or never, or it is stale.
// After a turn without a result it is urgent again a while later, if nothing is known of it
// yet or a person waits: the function may have been starting at that time.
func (p *pace) urgent(c candidate, now time.Time) bool {
	given, had := p.given[c.node]
	switch {
	case had && given.After(c.latest):
		return c.now && now.Sub(given) > api.CheckTurn || c.oldest.IsZero() && now.Sub(given) > askAgain
	case c.now:
		return true
	}
	return c.stale || c.oldest.Before(p.began.Add(-p.every))
}

// first returns the next node: nodes that a person asks for come first, and then the node
// that waited longest.
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

// waited is the time since when a node waits. A turn without a result counts as a turn.
func (p *pace) waited(c candidate) time.Time {
	if given := p.given[c.node]; given.After(c.latest) {
		return given
	}
	return c.oldest
}

// ledger returns the turns that the ledger should hold, given those that it holds: every
// turn that is not over, lost ones included; nil if nothing is to change. A turn for which
// the ledger has no room is never sent.
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
		t := api.NodeTurn{NodeName: node, Until: *leases.Stamp(p.shown[node])}
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

// written notes which turns the ledger holds.
func (p *pace) written(stands []api.NodeTurn) {
	until := map[string]time.Time{}
	for _, t := range stands {
		until[t.NodeName] = t.Until.Time
	}
	for i := range p.waiting {
		t := &p.waiting[i]
		t.known = t.known || !until[t.node].Before(leases.Stamp(t.until).Time)
	}
}

// due takes the turns that begin now, as many as may be under way at a time. A late turn
// is dropped, and its node waits as before.
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

// answered notes that some device of the node was looked at, at this time.
func (p *pace) answered(node string, at time.Time) {
	if asked, ok := p.asked[node]; ok && at.Add(clocksDiffer).After(asked) {
		delete(p.asked, node)
	}
}

// clocksDiffer is more than two estimates of the API server's time differ.
const clocksDiffer = 2 * time.Second

// forget drops nodes that are gone.
func (p *pace) forget(exists func(node string) bool) {
	for node := range p.given {
		if !exists(node) {
			delete(p.given, node)
		}
	}
}

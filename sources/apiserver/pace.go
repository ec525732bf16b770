package apiserver

import (
	"cmp"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// pace gives nodes their turns to have a device read: one each interval for each
// device, spread evenly over it and never closer than leastApart. Time is an input.
//
// A turn is written into the ledger before the check is asked for, with the picture
// that is written anyway: so checks cost the ledger no write of their own, and a
// fence sees there whether its node's device may be being read (S7).
type pace struct {
	every time.Duration
	// at is when the next turn begins.
	at time.Time
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
}

const (
	// leastApart are two turns, however many nodes there are.
	leastApart = time.Second
	// lateness is how long after its time a turn is still asked for.
	lateness = 15 * time.Second
	// tidyAfter is how long after its end a turn is taken out of the ledger: another
	// leader, who does not know yet that it is none, may have given a later one there.
	tidyAfter = time.Minute
)

func newPace(every time.Duration, shown map[string]api.Time) *pace {
	p := &pace{every: every, given: map[string]time.Time{}, shown: map[string]time.Time{}}
	for node, until := range shown {
		p.shown[node] = until.Time // of a leader before this one
	}
	return p
}

// give hands out the turns that begin until ahead from now, to whom waited longest.
func (p *pace) give(now time.Time, ahead time.Duration, all []candidate) {
	if p.at.Before(now) {
		p.at = now
	}
	devices := 0
	for _, c := range all {
		devices += max(1, c.devices)
	}
	if devices == 0 {
		return
	}
	step := max(leastApart, p.every/time.Duration(devices))
	for p.at.Before(now.Add(ahead)) {
		c := slices.MinFunc(all, func(a, b candidate) int {
			return cmp.Or(p.waited(a).Compare(p.waited(b)), cmp.Compare(a.node, b.node))
		})
		t := turn{node: c.node, uid: c.uid, at: p.at, until: p.at.Add(api.CheckTurn)}
		p.waiting = append(p.waiting, t)
		p.given[c.node], p.shown[c.node] = t.at, t.until
		p.at = p.at.Add(step)
	}
}

// waited is since when a node waits: a turn that came to nothing was one too.
func (p *pace) waited(c candidate) time.Time {
	if given := p.given[c.node]; given.After(c.latest) {
		return given
	}
	return c.oldest
}

// ledger is what to write there: every turn that is not over, so that one which was
// lost stands there again, and nil for those that have been for long.
func (p *pace) ledger(now time.Time) map[string]*api.Time {
	all := map[string]*api.Time{}
	for node, until := range p.shown {
		switch {
		case until.After(now):
			all[node] = stamp(until)
		case now.Sub(until) > tidyAfter:
			all[node] = nil
		}
	}
	return all
}

// written: what ledger gave stands there.
func (p *pace) written(gave map[string]*api.Time) {
	for node, until := range gave {
		if until == nil {
			delete(p.shown, node)
		}
	}
	for i := range p.waiting {
		p.waiting[i].known = true
	}
}

// due takes the turns that begin now; one that the ledger did not take in time is
// dropped.
func (p *pace) due(now time.Time) (all []turn) {
	p.waiting = slices.DeleteFunc(p.waiting, func(t turn) bool {
		late := now.Sub(t.at) > lateness
		if t.at.After(now) || !t.known && !late {
			return false
		}
		if !late {
			all = append(all, t)
		}
		return true
	})
	return all
}

// forget drops nodes that are gone.
func (p *pace) forget(exists func(node string) bool) {
	for node := range p.given {
		if !exists(node) {
			delete(p.given, node)
		}
	}
}

package pace

import (
	"cmp"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Pace gives nodes their turns to have a device read: one turn in each interval for each
// device, spread evenly, and never closer than leastApart. Some nodes have their turn at
// once (see Urgent). Time is an input.
//
// A turn is written into the ledger before its check is sent. It is written together with
// the picture, so checks cost the ledger no write of their own. A fence reads there whether
// its node's device may be under a read at this moment (S7: one call to a device at a time).
type Pace struct {
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
	waiting []Turn
	given   map[string]time.Time
	shown   map[string]time.Time
}

// Turn is the time in which one node's devices may be checked.
type Turn struct {
	// Node and UID name the Node object.
	Node, UID string
	// At is when the turn begins, Until is when it is over.
	At, Until time.Time
	// known says that the ledger holds the turn.
	known bool
}

// Candidate is a node that may be checked now.
type Candidate struct {
	// Node and UID name the Node object.
	Node, UID string
	// Devices is how many devices the node has, at least 1. Oldest is the earliest of the
	// times at which each device was last read. Latest is when any device of the node was
	// last looked at.
	Devices        int
	Oldest, Latest time.Time
	// Asked says that a person asks for a check; Stale, that other ConfigMaps were resolved.
	Asked, Stale bool
}

const (
	// leastApart is the time between two turns, however many nodes there are.
	leastApart = time.Second
	// urgentApart is the time between two urgent turns: 100 devices take less than a
	// minute.
	urgentApart = 400 * time.Millisecond
	// atATime bounds the checks under way: devices that hang must leave functions free (S7).
	atATime = 8
	// answersIn is how long a check takes a place of atATime: its read takes 20 s, unless calls
	// were set to take longer. It does not follow that setting, which the source does not have.
	// A longer read loses its place only: no turn lasts longer than api.CheckTurn, so that a
	// few more than atATime are under way, and no device is read by two (S7).
	answersIn = 25 * time.Second
	// askAgain is the pause after a turn without a result, if nothing is known of the node.
	askAgain = 2 * time.Minute
	// Lateness is how late after the start of its turn a check is still sent.
	Lateness = 15 * time.Second
	// ClocksDiffer is more than two estimates of the API server's time differ.
	ClocksDiffer = 2 * time.Second
)

// New returns a pace of one turn in every for each device. shown has the turns that an earlier
// leader wrote into the ledger.
func New(every time.Duration, shown []api.NodeTurn) *Pace {
	p := &Pace{every: every, asked: map[string]time.Time{}, given: map[string]time.Time{}, shown: map[string]time.Time{}}
	for _, t := range shown {
		p.shown[t.NodeName] = t.Until.Time // turns of an earlier leader
	}
	return p
}

// Begun reports whether Give was called yet.
func (p *Pace) Begun() bool { return !p.at.IsZero() }

// Give hands out the turns that begin before now+ahead, to the nodes that waited longest.
func (p *Pace) Give(now time.Time, ahead time.Duration, all []Candidate) {
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
		devices += max(1, c.Devices)
	}
	if devices == 0 {
		return
	}
	step := max(leastApart, p.every/time.Duration(devices))
	for p.soon.Before(now.Add(ahead)) {
		urgent := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return !p.Urgent(c, now) })
		if len(urgent) == 0 {
			break
		}
		p.assign(p.first(urgent), p.soon)
		p.at = later(p.at, p.soon.Add(step))
		p.soon = p.soon.Add(urgentApart)
	}
	for p.at.Before(now.Add(ahead)) {
		p.assign(p.first(all), p.at)
		p.at = p.at.Add(step)
	}
}

// Urgent reports whether a node has its turn at once: a person asks for a check, or the node
// was not looked at within one interval before the lead began, or never, or it is stale.
// After a turn without a result it is urgent again a while later, if nothing is known of it
// yet or a person waits: the function may have been starting at that time.
func (p *Pace) Urgent(c Candidate, now time.Time) bool {
	given, had := p.given[c.Node]
	switch {
	case had && given.After(c.Latest):
		return c.Asked && now.Sub(given) > api.CheckTurn || c.Oldest.IsZero() && now.Sub(given) > askAgain
	case c.Asked:
		return true
	}
	return c.Stale || c.Oldest.Before(p.began.Add(-p.every))
}

// first returns the next node: nodes that a person asks for come first, and then the node
// that waited longest.
func (p *Pace) first(all []Candidate) Candidate {
	rank := func(c Candidate) int {
		if c.Asked && p.Urgent(c, p.soon) {
			return 0
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b Candidate) int {
		return cmp.Or(rank(a)-rank(b), p.waited(a).Compare(p.waited(b)), cmp.Compare(a.Node, b.Node))
	})
}

// assign gives the turn that begins at this time.
func (p *Pace) assign(c Candidate, at time.Time) {
	t := Turn{Node: c.Node, UID: c.UID, At: at, Until: at.Add(api.CheckTurn)}
	p.waiting = append(p.waiting, t)
	p.given[c.Node], p.shown[c.Node] = t.At, t.Until
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// waited is the time since when a node waits. A turn without a result counts as a turn.
func (p *Pace) waited(c Candidate) time.Time {
	if given := p.given[c.Node]; given.After(c.Latest) {
		return given
	}
	return c.Oldest
}

// Answered notes that some device of the node was looked at, at this time.
func (p *Pace) Answered(node string, at time.Time) {
	if asked, ok := p.asked[node]; ok && at.Add(ClocksDiffer).After(asked) {
		delete(p.asked, node)
	}
}

// Forget drops nodes that are gone.
func (p *Pace) Forget(exists func(node string) bool) {
	for node := range p.given {
		if !exists(node) {
			delete(p.given, node)
		}
	}
}

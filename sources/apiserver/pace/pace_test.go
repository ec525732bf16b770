package pace

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sec(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

// pictureEvery is how often the source looks whose turn it is.
const pictureEvery = 500 * time.Millisecond

// played gives turns to these nodes for so long, with a picture written each
// heartbeat, and carries each check out at once.
func played(p *Pace, all []Candidate, long time.Duration) (turns []Turn) {
	var stands []api.NodeTurn
	for now := t0; now.Before(t0.Add(long)); now = now.Add(pictureEvery) {
		if now.Sub(t0)%leases.Heartbeat == 0 {
			p.Give(now, leases.Heartbeat, all)
			stands = p.keptIn(stands, now)
		}
		for _, t := range p.Due(now) {
			turns = append(turns, t)
			for i := range all {
				if c := &all[i]; c.Node == t.Node && c.Devices <= 1 {
					c.Oldest, c.Latest = now, now
				}
			}
			p.Answered(t.Node, now)
		}
	}
	return turns
}

// keptIn writes the turns beside these, and tells which stand there then.
func (p *Pace) keptIn(stands []api.NodeTurn, now time.Time) []api.NodeTurn {
	if all := p.Ledger(now, stands); all != nil {
		stands = all
	}
	p.Written(stands)
	return stands
}

// fleet are nodes that were looked at a moment ago.
func fleet(n int) (all []Candidate) {
	for i := range n {
		all = append(all, Candidate{Node: fmt.Sprintf("n%04d", i), Devices: 1, Oldest: sec(-1), Latest: sec(-1)})
	}
	return all
}

// TestTurnsAreSpreadEvenly: each node has one each interval, and no two are closer
// than the interval over the nodes, nor than a second.
func TestTurnsAreSpreadEvenly(t *testing.T) {
	for name, c := range map[string]struct {
		nodes       int
		every       time.Duration
		apart, each time.Duration
	}{
		"one node":                            {1, 10 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		"twenty":                              {20, 10 * time.Minute, 30 * time.Second, 10 * time.Minute},
		"so many that a second apart is more": {1500, 10 * time.Minute, time.Second, 25 * time.Minute},
		"a short interval":                    {4, 2 * time.Second, time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			turns := played(New(c.every, nil), fleet(c.nodes), 3*c.each)
			last, seen := map[string]time.Time{}, time.Time{}
			for _, turn := range turns {
				if !seen.IsZero() && turn.At.Sub(seen) != c.apart {
					t.Fatalf("%s after %s, want %s", turn.Node, turn.At.Sub(seen), c.apart)
				}
				if was, ok := last[turn.Node]; ok && turn.At.Sub(was) != c.each {
					t.Fatalf("%s again after %s, want %s", turn.Node, turn.At.Sub(was), c.each)
				}
				last[turn.Node], seen = turn.At, turn.At
			}
			if len(last) != c.nodes {
				t.Errorf("%d of %d nodes had a turn", len(last), c.nodes)
			}
		})
	}
}

// TestWhoWaitedLongestIsNext, also for a new leader, and after a turn without a result.
func TestWhoWaitedLongestIsNext(t *testing.T) {
	seen := func(node string, oldest, latest float64) Candidate {
		return Candidate{Node: node, Devices: 1, Oldest: sec(oldest), Latest: sec(latest)}
	}
	for name, c := range map[string]struct {
		all  []Candidate
		want []string
	}{
		"as their FenceTargets say":             {[]Candidate{seen("a", -10, -10), seen("b", -30, -30), seen("c", -20, -20)}, []string{"b", "c", "a", "b"}},
		"one that was never checked":            {[]Candidate{seen("a", -10, -10), {Node: "z"}}, []string{"z", "a", "z", "a"}},
		"one with a device that was never read": {[]Candidate{seen("a", -10, -10), {Node: "z", Devices: 1, Latest: sec(-5)}}, []string{"z", "a", "z", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(time.Duration(len(c.all))*time.Minute, nil)
			p.Give(t0, 4*time.Minute, c.all) // none of them is carried out
			var got []string
			for _, turn := range p.waiting {
				got = append(got, turn.Node)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestEachDeviceHasItsShare: a node with two devices has a turn twice in an interval.
func TestEachDeviceHasItsShare(t *testing.T) {
	p := New(40*time.Second, nil)
	p.Give(t0, leases.Heartbeat, []Candidate{{Node: "a", Devices: 2, Oldest: sec(-1)}, {Node: "b", Devices: 2, Oldest: sec(-1)}})
	if len(p.waiting) != 1 || p.at.Sub(t0) != 10*time.Second {
		t.Errorf("%d turns, the next in %s", len(p.waiting), p.at.Sub(t0))
	}
}

// TestATurnIsAskedForOnlyOnceItStandsInTheLedger and never late, nor in a burst after a
// pause: a fence must see the turn in the ledger (S7: one device call at a time).
func TestATurnIsAskedForOnlyOnceItStandsInTheLedger(t *testing.T) {
	p, all := New(4*time.Second, nil), fleet(4)
	p.Give(t0, leases.Heartbeat, all)
	if got := p.Due(t0); got != nil {
		t.Errorf("asked for before it is known: %v", got)
	}
	p.keptIn(nil, t0)
	if got := p.Due(t0); len(got) != 1 || got[0].Node != "n0000" || got[0].Until != t0.Add(api.CheckTurn) {
		t.Errorf("got %v", got)
	}
	later := t0.Add(time.Hour)
	if got := p.Due(later); got != nil {
		t.Errorf("asked for too late: %v", got)
	}
	p.Give(later, leases.Heartbeat, all)
	if n := len(p.waiting); n != 10 {
		t.Errorf("%d turns in ten seconds after a pause", n)
	}
}

// TestTurnsInTheLedger: each turn is in the ledger until it is over by any clock, also a
// turn that another source gave, earlier or at the same time. A turn without room in the
// ledger is not used (S7).
func TestTurnsInTheLedger(t *testing.T) {
	turn := func(node string, until float64) api.NodeTurn {
		return api.NodeTurn{NodeName: node, Until: *leases.Stamp(sec(until))}
	}
	var full []api.NodeTurn
	for i := range api.MaxTurns {
		full = append(full, turn(fmt.Sprint("x", i), 30))
	}
	for name, c := range map[string]struct {
		at           float64
		stands, want []api.NodeTurn
	}{
		"beside none":                       {0, nil, []api.NodeTurn{turn("old", 5), turn("a", 40)}},
		"it stands there":                   {0, []api.NodeTurn{turn("a", 40), turn("old", 5)}, nil},
		"another source's":                  {0, []api.NodeTurn{turn("b", 9)}, []api.NodeTurn{turn("b", 9), turn("old", 5), turn("a", 40)}},
		"another source's of the same node": {0, []api.NodeTurn{turn("a", 45), turn("old", 5)}, nil},
		"over, but not by a slow clock":     {6, []api.NodeTurn{turn("a", 40), turn("old", 5)}, nil},
		"over":                              {8, []api.NodeTurn{turn("old", 5), turn("a", 40)}, []api.NodeTurn{turn("a", 40)}},
		"over, and the only one":            {50, []api.NodeTurn{turn("a", 40)}, []api.NodeTurn{}},
		"none":                              {50, nil, nil},
		"there is no room":                  {0, full, nil},
		"there is room for one":             {0, full[1:], append(full[1:len(full):len(full)], turn("old", 5))},
	} {
		p := New(time.Minute, []api.NodeTurn{turn("old", 5), turn("gone", -61)})
		p.Give(t0, time.Millisecond, []Candidate{{Node: "a"}})
		got := p.Ledger(sec(c.at), c.stands)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if p.Written(got); name == "there is room for one" && p.waiting[0].known {
			t.Errorf("%s: the turn that has none is asked for", name)
		}
	}
}

// TestTheFirstRoundIsAtOnce: devices that were never read, or not within an interval when
// the lead began, are read within a minute for 100 devices, and then at the usual pace.
func TestTheFirstRoundIsAtOnce(t *testing.T) {
	const every = 10 * time.Minute
	type seen struct {
		Turns       int
		First, Last time.Duration
	}
	for name, c := range map[string]struct {
		nodes  int
		oldest time.Time
		want   seen
	}{
		"never looked at":            {100, time.Time{}, seen{100, 0, 39600 * time.Millisecond}},
		"looked at long ago":         {100, sec(-601), seen{100, 0, 39600 * time.Millisecond}},
		"looked at an hour ago, few": {2, sec(-3600), seen{2, 0, 400 * time.Millisecond}},
		"looked at just now":         {100, sec(-1), seen{10, 0, 54 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			all := fleet(c.nodes)
			for i := range all {
				all[i].Oldest, all[i].Latest = c.oldest, c.oldest
			}
			turns := played(New(every, nil), all, time.Minute)
			for i, turn := range turns {
				if i > 0 && turn.At.Sub(turns[i-1].At) < urgentApart {
					t.Errorf("%s is %s after %s", turn.Node, turn.At.Sub(turns[i-1].At), turns[i-1].Node)
				}
			}
			n := min(len(turns), c.want.Turns) // what comes after is the next round
			if d := cmp.Diff(c.want, seen{n, turns[0].At.Sub(t0), turns[n-1].At.Sub(t0)}); d != "" {
				t.Error(d)
			}
			if most := c.want.Turns + 4; len(turns) > most {
				t.Errorf("%d turns in a minute", len(turns))
			}
		})
	}
}

// TestChecksUnderWayAreBounded: devices that hang leave enough functions free (S7). A node
// whose check was not sent in time has its turn as soon as there is room.
func TestChecksUnderWayAreBounded(t *testing.T) {
	p, all := New(10*time.Minute, nil), fleet(30)
	for i := range all {
		all[i].Oldest, all[i].Latest = time.Time{}, time.Time{}
	}
	asked, stands := map[string]time.Time{}, []api.NodeTurn(nil)
	for now := t0; now.Before(sec(130)); now = now.Add(pictureEvery) {
		if now.Sub(t0)%leases.Heartbeat == 0 {
			p.Give(now, leases.Heartbeat, all)
			stands = p.keptIn(stands, now)
		}
		for _, turn := range p.Due(now) {
			asked[turn.Node] = now
		}
		under := 0
		for _, at := range asked {
			if now.Sub(at) <= answersIn {
				under++
			}
		}
		if under > atATime {
			t.Fatalf("%d checks are under way", under)
		}
	}
	if len(asked) != len(all) {
		t.Errorf("%d of %d nodes had a turn", len(asked), len(all))
	}
}

// TestAPersonsWishIsFirst, again after each of the node's devices, and again after a turn
// without a result.
func TestAPersonsWishIsFirst(t *testing.T) {
	p, all := New(10*time.Minute, nil), fleet(3)
	p.Give(t0, leases.Heartbeat, all)
	wish := &all[2]
	wish.Asked = true
	var got []float64
	for _, at := range []struct {
		at       float64
		answered bool
	}{{1, false}, {2, false}, {3, true}, {4, true}, {10, false}, {40, false}, {45, false}} {
		if at.answered {
			wish.Latest = sec(at.at - 0.5)
		}
		before := len(p.waiting)
		p.Give(sec(at.at), time.Nanosecond, all)
		for _, turn := range p.waiting[before:] {
			if turn.Node != wish.Node {
				t.Errorf("%s has a turn", turn.Node)
			}
			got = append(got, turn.At.Sub(t0).Seconds())
		}
	}
	if d := cmp.Diff([]float64{1, 3, 4, 45}, got); d != "" {
		t.Error(d)
	}
}

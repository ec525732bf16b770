package apiserver

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/sources/apiserver/due"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

// TestANodeThatIsBackWakesItsFence: a fence recovers by a Node that is Ready and a Lease that
// has moved. Three watches tell of the two and of the fence, in any order between them, and the
// last of the three must wake it: else nobody looks before the next resync.
func TestANodeThatIsBackWakesItsFence(t *testing.T) {
	ready := func(s *Source) { s.node(nodeIn("a", "True", 8)) }
	moves := func(s *Source) { s.lease(leaseIn("a", 9, 40)) }
	is := func(change ...func(*api.NodeFence)) func(*Source) {
		return func(s *Source) {
			s.fence(fenceOf("2", append([]func(*api.NodeFence){recovers}, change...)...))
		}
	}
	const byReady, byNow = "fence-a.1.Recovering.9.1767323053000001", "fence-a.1.Recovering.9.1767323075000000"
	for name, c := range map[string]struct {
		before []func(*Source)
		last   func(*Source)
		want   []string
	}{
		"Ready comes last":                   {[]func(*Source){is(), moves}, ready, []string{byReady}},
		"the Lease moves last":               {[]func(*Source){is(), ready}, moves, []string{byNow}},
		"the fence comes last":               {[]func(*Source){moves, ready}, is(), []string{byNow}},
		"the Lease moves, the Node is down":  {[]func(*Source){is()}, moves, nil},
		"the Lease is as it was":             {[]func(*Source){is(), ready}, func(s *Source) { s.lease(leaseIn("a", 1, 40)) }, nil},
		"the fence enters, the Node is down": {nil, is(), nil},
		"the fence is the same again":        {[]func(*Source){ready, is()}, is(func(f *api.NodeFence) { f.ResourceVersion = "3" }), nil},
		"its health is counted already":      {[]func(*Source){ready, is(counted)}, moves, nil},
		"it ends without health":             {[]func(*Source){ready, is(ended)}, moves, nil},
		"its machine was to stay off":        {[]func(*Source){is(in(api.Fenced)), ready}, moves, []string{"fence-a.1.Fenced.9.1767323075000000"}},
		"it was given up":                    {[]func(*Source){is(in(api.Failed)), ready}, moves, []string{"fence-a.1.Failed.9.1767323075000000"}},
		"another phase":                      {[]func(*Source){ready, func(s *Source) { s.fence(fenceOf("2", nextLook(90))) }}, moves, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := waits(t, sec(30))
			s.fence(fenceOf("1", func(f *api.NodeFence) { f.Status.Phase, f.Status.NextLook = api.PoweringOn, leases.Stamp(sec(90)) }))
			s.node(nodeIn("a", "Unknown", 3))
			s.lease(leaseIn("a", 1, 40))
			for _, do := range c.before {
				do(s)
			}
			s.outbox.Empty()
			c.last(s)
			if d := cmp.Diff(c.want, woken(s)); d != "" {
				t.Error(d)
			}
		})
	}
}

func recovers(f *api.NodeFence) {
	f.Status.Phase, f.Status.Transitions, f.Status.NextLook = api.Recovering, 9, leases.Stamp(sec(90))
}
func nextLook(at float64) func(*api.NodeFence) {
	return func(f *api.NodeFence) { f.Status.NextLook = leases.Stamp(sec(at)) }
}
func in(p api.Phase) func(*api.NodeFence) {
	return func(f *api.NodeFence) { f.Status.Phase = p }
}
func counted(f *api.NodeFence) { f.Status.ReadySince = leases.Stamp(sec(20)) }
func ended(f *api.NodeFence)   { f.Status.Outcome = api.Aborted }

// waits is asleep, and knows of nodes by what it is told.
func waits(t *testing.T, now time.Time) *Source {
	s := asleep(t, now)
	s.enrol.begin()
	return s
}

// woken are the wake-ups of fences that wait to be sent.
func woken(s *Source) (ids []string) {
	for _, l := range s.outbox.Waiting() {
		if l.About == "fence/fence-a" {
			ids = append(ids, l.Event.ID())
		}
	}
	return ids
}

// TestNoWakeUpIsADuplicateOfAnother: the API server knows a condition's time to the second, and
// a kubelet that starts says NotReady and Ready within one. Brokers drop what has an ID that
// they have had, so the second must not have the first one's (S19).
func TestNoWakeUpIsADuplicateOfAnother(t *testing.T) {
	s := waits(t, sec(30))
	s.fence(fenceOf("1", recovers))
	s.node(nodeIn("a", "True", 3))
	ids := map[string]bool{}
	for _, status := range []string{"False", "True"} {
		s.outbox.Empty()
		s.node(nodeIn("a", status, 8))
		for _, id := range woken(s) {
			ids[id] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("two changes within a second are told by %v", ids)
	}
}

// TestEachMoveWakesAnew, and by the same token: a Lease moves again and again.
func TestEachMoveWakesAnew(t *testing.T) {
	now := sec(30)
	s := waits(t, now)
	s.now = func() time.Time { now = now.Add(time.Second); return now }
	s.node(nodeIn("a", "True", 3))
	s.fence(fenceOf("1", recovers))
	ids := map[string]bool{}
	for i := range 3 {
		s.lease(leaseIn("a", float64(i), 40))
		ids[fmt.Sprint(woken(s))] = true
		s.outbox.Empty()
	}
	if len(ids) != 3 {
		t.Errorf("three moves are told by %v", ids)
	}
}

// TestALeaseThatClaimsHalfALife: a node writes its own Lease, and the duration that it
// writes must not hold the fences of all other nodes (S14, S15). It is warned of, once.
func TestALeaseThatClaimsHalfALife(t *testing.T) {
	var log bytes.Buffer
	s := &Source{now: time.Now, leases: leases.New("c", nil, slog.New(slog.NewTextHandler(&log, nil))), due: due.New("c", nil, time.Hour, nil)}
	h := s.leaseHandler()
	one, two := leaseIn("a", 1, math.MaxInt32), leaseIn("a", 2, math.MaxInt32)
	h.OnAdd(one, true)
	h.OnUpdate(one, two)
	h.OnUpdate(two, leaseIn("a", 3, 40))
	if n := strings.Count(log.String(), "leaseDurationSeconds"); n != 1 {
		t.Errorf("told %d times: %s", n, log.String())
	}
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "True", 0))
	f.set(leasesURL, leaseIn("a", 1, math.MaxInt32))
	start(t, f, time.Hour)
	p := f.picture(t, func(p api.LeasePicture) bool { return p.Total == 1 })
	if p.Renewal.Duration != look.SlowestRenewal {
		t.Errorf("all fences wait for %s", p.Renewal.Duration)
	}
}

// TestASuspectIsToldAndToldAgain at each resync, but not while its node has an open fence
// (S19).
func TestASuspectIsToldAndToldAgain(t *testing.T) {
	s := asleep(t, sec(30), "a", "b")
	s.leases.Begin(t0)
	s.leases.Resume(t0)
	for _, node := range []string{"a", "b"} {
		s.leases.Saw(leaseIn(node, 1, 40), sec(10))
	}
	s.leases.Kept(s.leases.Look(s.nodes.uids(), sec(30)).LeasePicture)
	s.due.Put(fenceOf("1"), sec(30)) // of node a
	id := "node-b.suspect." + look.LeaseMark(leaseIn("b", 1, 40))
	told := func(what string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, s.pendingIDs()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		drain(s.outbox)
	}
	s.suspects()
	told("at first", id)
	s.suspects()
	told("the same again")
	s.resync()
	told("at a resync", fmt.Sprint(id, ".r", sec(30).Truncate(30*time.Second).UnixMicro()))
}

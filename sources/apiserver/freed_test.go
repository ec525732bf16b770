package apiserver

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// TestAFreeSlotWakesWhoWaitsForIt: when a fence gives its slot back, or its room to drain, and when it
// ends. Nothing else that changes in a fence wakes another one. The wake-up waits
// for the census: a gate that counts by an older one refuses.
func TestAFreeSlotWakesWhoWaitsForIt(t *testing.T) {
	later := metav1.NewMicroTime(sec(300))
	in := func(rv, node string, p api.Phase, what api.WaitsFor) *api.NodeFence {
		return fenceOf(rv, func(f *api.NodeFence) {
			f.Name, f.Spec.NodeName, f.UID = node, node, types.UID("fence-"+node)
			f.Status.Phase, f.Status.WaitsFor, f.Status.NextLook = p, what, &later
		})
	}
	for name, c := range map[string]struct {
		was, is api.Phase
		drain   *api.DrainRecord
		wakes   bool
	}{
		"its work is released":        {api.Releasing, api.PoweringOn, nil, true},
		"it is sent back":             {api.Isolating, api.Pending, nil, true},
		"it ends":                     {api.Recovering, api.Finished, nil, true},
		"it goes on":                  {api.Isolating, api.Fencing, nil, false},
		"it comes back":               {api.PoweringOn, api.Recovering, nil, false},
		"its drain has failed":        {api.Draining, api.Failed, &api.DrainRecord{}, true},
		"its drain is given up":       {api.Draining, api.Recovering, &api.DrainRecord{Ended: api.DrainGivenUp}, true},
		"it has drained, and waits":   {api.Draining, api.Pending, &api.DrainRecord{Ended: api.DrainEmpty}, false},
		"it has drained, and fails":   {api.Pending, api.Failed, &api.DrainRecord{Ended: api.DrainEmpty}, true},
		"it has drained, and goes on": {api.Pending, api.Isolating, &api.DrainRecord{Ended: api.DrainEmpty}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := asleepWith(t, &taker{}, sec(30))
			s.fence(in("1", "w", api.Pending, api.WaitsForSlot))
			of := func(rv string, p api.Phase) *api.NodeFence {
				f := in(rv, "a", p, "")
				f.Status.Drain = c.drain
				return f
			}
			s.fence(of("1", c.was))
			s.due.SendDue(sec(30))
			if n := len(s.outbox.Waiting()); n > 0 {
				t.Fatalf("%d wake-ups before anything has changed", n)
			}
			s.fence(of("2", c.is))
			s.due.SendDue(sec(30))
			woken := false
			for _, l := range s.outbox.Waiting() {
				if l.Event.Subject() != "w" {
					continue
				}
				woken = true
				if l.Counted == nil {
					t.Fatal("it does not wait for the ledger's census")
				}
				select {
				case <-l.Counted:
					t.Error("it is sent before the ledger's census has the free slot")
				default:
				}
			}
			if woken != c.wakes {
				t.Errorf("woken: %t", woken)
			}
		})
	}
}

// TestTheEndOfARoundOfChecksWakesWhoWaitsForIt, and its beginning wakes nobody.
func TestTheEndOfARoundOfChecksWakesWhoWaitsForIt(t *testing.T) {
	at := metav1.NewMicroTime(sec(29))
	in := func(rv, node string, what api.WaitsFor, started *api.Time) *api.NodeFence {
		return fenceOf(rv, func(f *api.NodeFence) {
			later := metav1.NewMicroTime(sec(300))
			f.Name, f.Spec.NodeName, f.UID = node, node, types.UID("fence-"+node)
			f.Status.Phase, f.Status.WaitsFor, f.Status.NextLook = api.Pending, what, &later
			f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: started}}
		})
	}
	for name, c := range map[string]struct {
		was, is *api.Time
		wakes   bool
	}{"it ends": {&at, nil, true}, "it begins": {nil, &at, false}, "it goes on": {&at, &at, false}} {
		s := asleepWith(t, &taker{}, sec(30))
		s.fence(in("1", "w", api.WaitsForCheckTurn, nil))
		s.fence(in("1", "a", api.WaitsForChecks, c.was))
		s.fence(in("2", "a", api.WaitsForChecks, c.is))
		s.due.SendDue(sec(30))
		woken := slices.ContainsFunc(s.outbox.Waiting(), func(l outbox.Letter) bool { return l.Event.Subject() == "w" })
		if woken != c.wakes {
			t.Errorf("%s: woken: %t", name, woken)
		}
	}
}

// TestAFailedNodeWakesItsFenceOnceItIsCounted: a gate that looks at the fence before would find the ledger's
// census behind, and list the cluster. A node that comes back waits for no census.
func TestAFailedNodeWakesItsFenceOnceItIsCounted(t *testing.T) {
	now := sec(30)
	s := asleepWith(t, &taker{}, now)
	s.now = func() time.Time { return now }
	s.enrol.begin()
	later := metav1.NewMicroTime(sec(300))
	s.node(nodeIn("b", "True", 0))
	s.fence(fenceOf("1", func(f *api.NodeFence) {
		f.Name, f.Spec.NodeName, f.Status.Phase, f.Status.NextLook = "b", "b", api.Pending, &later
	}))
	sent := map[string]bool{}
	for i, ready := range []string{"Unknown", "True"} {
		s.node(nodeIn("b", ready, float64(i+1)))
		woken := slices.DeleteFunc(s.outbox.Waiting(), func(l outbox.Letter) bool { return l.About == "" || sent[l.Event.ID()] })
		if len(woken) != 1 {
			t.Fatalf("Ready=%s: woken %d times", ready, len(woken))
		}
		sent[woken[0].Event.ID()] = true
		if waits := woken[0].Counted != nil; waits != (ready == "Unknown") {
			t.Errorf("Ready=%s: waits for the census: %v", ready, waits)
		}
	}
}

// TestAHealthyNodeWakesOnceItIsCounted: who waits because too many nodes are unhealthy is not told before
// the ledger's census has this one as healthy.
func TestAHealthyNodeWakesOnceItIsCounted(t *testing.T) {
	now := sec(30)
	s := asleepWith(t, &taker{}, now)
	s.now = func() time.Time { return now }
	s.enrol.begin()
	later := metav1.NewMicroTime(sec(300))
	s.fence(fenceOf("1", func(f *api.NodeFence) {
		f.Name, f.Spec.NodeName, f.Status.Phase, f.Status.NextLook = "w", "w", api.Pending, &later
	}))
	s.node(nodeIn("b", "False", 0))
	s.node(nodeIn("b", "True", 1))
	now = sec(31)
	s.due.SendDue(now)
	woken := false
	for _, l := range s.outbox.Waiting() {
		if woken = woken || l.Event.Subject() == "w"; l.Event.Subject() == "w" && l.Counted == nil {
			t.Error("it does not wait for the census")
		}
	}
	if !woken {
		t.Error("it is not woken")
	}
}

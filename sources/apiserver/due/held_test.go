package due

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func pending(f *api.NodeFence) { f.Status.Phase = api.Pending }

// TestWhatHeldThemHasEnded: fences that wait are looked at soon, one after the other and
// each with a due time of its own, however often the change is reported (S19).
func TestWhatHeldThemHasEnded(t *testing.T) {
	d := newDueList(resync, unlabelled)
	for i := range 3 {
		f := fenceOf("1", check(20), pending)
		f.Spec.NodeName = fmt.Sprint("n", i)
		d.note(f, sec(0))
	}
	busy := fenceOf("1", check(20))
	busy.Spec.NodeName = "busy"
	d.note(busy, sec(0))
	sent := map[string][]string{}
	take := func(at float64) {
		for _, w := range d.take(sec(at)) {
			sent[w.fence.Spec.NodeName] = append(sent[w.fence.Spec.NodeName], w.at.Sub(t0).String())
		}
	}
	d.wakeAll(whichever, nil, sec(1))
	d.wakeAll(whichever, nil, sec(1.1)) // the same, over again
	if at := d.next(); !at.Equal(sec(1.3)) {
		t.Errorf("the first is due at %s", at.Sub(t0))
	}
	f := fenceOf("2", check(20), pending)
	f.Spec.NodeName = "n1"
	d.note(f, sec(1.2)) // somebody has looked at it meanwhile, perhaps too early
	take(1.39)
	take(1.4)
	d.wakeAll(whichever, nil, sec(1.5)) // another change: each waits for its gap
	take(3.2)
	take(3.5)
	take(20)
	want := map[string][]string{
		"n0": {"1.3s", "3.39s", "20s"}, "n1": {"1.35s", "3.39s", "20s"}, "n2": {"1.4s", "3.4s", "20s"}, "busy": {"20s"},
	}
	if d := cmp.Diff(want, sent); d != "" {
		t.Error(d)
	}
}

// TestAThousandHeldFencesAreNoStorm: the fences that one change wakes are woken one by one.
func TestAThousandHeldFencesAreNoStorm(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	for i := range 1000 {
		f := fenceOf("1", check(3000), pending)
		f.Spec.NodeName = fmt.Sprint(i)
		d.note(f, sec(0))
	}
	sent := 0
	for now := range 60 {
		d.wakeAll(whichever, nil, sec(float64(now))) // a change each second
		n := len(d.take(sec(float64(now) + 0.9)))
		if n > 21 {
			t.Errorf("%d were woken in second %d", n, now)
		}
		sent += n
	}
	if sent < 1000 {
		t.Errorf("%d were woken within a minute", sent)
	}
}

// TestAFreeSlotWakesTheNext: those that have waited longest for it, and nobody else. A fence that was
// just woken comes last, and is woken again after the gap: it may have asked before that slot was free.
// One that only another policy counts comes after those that the same one does. The end of a fence whose
// slot was free before wakes only who waits for a budget.
func TestAFreeSlotWakesTheNext(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	under := func(f *api.NodeFence, policies ...string) *api.NodeFence {
		for _, p := range policies {
			f.Status.Decision.Limits = append(f.Status.Decision.Limits, api.ScopedLimits{Policy: p})
		}
		return f
	}
	waits := func(node string, opened float64, what api.WaitsFor, policies ...string) {
		f := under(fenceOf("1", check(3000), pending), policies...)
		at := metav1.NewMicroTime(sec(opened))
		f.Spec.NodeName, f.Status.OpenedAt, f.Status.WaitsFor = node, &at, what
		d.note(f, sec(0))
	}
	waits("third", 3, api.WaitsForSlot, "all", "west")
	waits("second", 2, api.WaitsForBudget)
	waits("first", 1, api.WaitsForSlot, "all")
	waits("approval", 0, api.WaitsForApproval, "all")
	waits("fourth", 4, api.WaitsForSlot, "all")
	waits("elsewhere", 0.5, api.WaitsForSlot, "east")
	running := fenceOf("1", check(3000))
	running.Spec.NodeName, running.Status.WaitsFor = "running", api.WaitsForSlot
	d.note(running, sec(0))
	var counted chan struct{}
	taken := func(at float64, want ...string) {
		t.Helper()
		var got []string
		for _, w := range d.take(sec(at)) {
			if w.counted != counted {
				t.Errorf("at %v %s does not wait for the census that has the free slot", at, w.fence.Spec.NodeName)
			}
			got = append(got, w.fence.Spec.NodeName)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %v: %s", at, diff)
		}
	}
	done := metav1.NewMicroTime(sec(0))
	freed := func(at float64, phase api.Phase, want ...string) {
		t.Helper()
		counted = make(chan struct{})
		f := under(fenceOf("1"), "west", "all")
		f.Status.Phase, f.Status.Release.DoneAt = phase, &done
		d.wakeNext(f, counted, sec(at))
		taken(at, want...)
	}
	freed(10, api.Releasing, "first", "second")
	freed(10.5, api.Releasing, "fourth", "third")
	freed(11, api.Releasing, "elsewhere")
	taken(11.9)
	taken(12, "first")
	freed(13, api.Recovering, "second")
	freed(15, api.Releasing, "first", "second")
	freed(15.1, api.Releasing, "fourth", "third")
	d.drop("elsewhere")
	freed(15.2, api.Releasing)
	goesOn := fenceOf("2", check(3000))
	goesOn.Spec.NodeName = "second"
	d.note(goesOn, sec(16))
	taken(17.1, "first")
}

// TestAFreeSlotWakesItsOwnDomainFirst: where a policy limits domains, those that have waited longest may
// be in a full one, and the slot would stand free until another looks by itself. Who has waited longer in
// another domain is woken besides: the policy's slots are for all domains.
func TestAFreeSlotWakesItsOwnDomainFirst(t *testing.T) {
	in := func(f *api.NodeFence, node string) *api.NodeFence {
		f.Spec.NodeName = node
		f.Status.Decision.Limits = []api.ScopedLimits{{Policy: "p", PerDomain: &api.ResolvedDomain{TopologyKey: "zone"}}, {Policy: "all"}}
		return f
	}
	for name, c := range map[string]struct{ waits, want []string }{
		"the oldest are in another domain": {[]string{"a1", "a2", "a3", "b1"}, []string{"a1", "b1"}},
		"several are in its domain":        {[]string{"a1", "a2", "b1", "b2", "b3"}, []string{"a1", "b1", "b2"}},
		"its domain has waited longest":    {[]string{"b1", "b2", "a1", "b3"}, []string{"b1", "b2"}},
		"nobody is in its domain":          {[]string{"a1", "a2", "a3"}, []string{"a1", "a2"}},
	} {
		d := newDueList(time.Hour, func(node string) map[string]string { return map[string]string{"zone": node[:1]} })
		for i, node := range c.waits {
			d.note(in(waitsSince(node, float64(i)), node), sec(0))
		}
		freed := in(fenceOf("1"), "b0")
		freed.Status.Phase = api.Releasing
		d.wakeNext(freed, make(chan struct{}), sec(10))
		var got []string
		for _, w := range d.take(sec(10)) {
			got = append(got, w.fence.Spec.NodeName)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestAHealthyNodeWakesNobodyWhoWaitsForASlot: it frees none. All others who wait are woken.
func TestAHealthyNodeWakesNobodyWhoWaitsForASlot(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	for node, what := range map[string]api.WaitsFor{
		"slot": api.WaitsForSlot, "checks": api.WaitsForCheckTurn, "budget": api.WaitsForBudget, "storm": "", "approval": api.WaitsForApproval,
	} {
		f := fenceOf("1", check(3000), pending)
		f.Spec.NodeName, f.Status.WaitsFor = node, what
		d.note(f, sec(0))
	}
	counted := make(chan struct{})
	woken := func(at float64) (got []string) {
		for _, w := range d.take(sec(at)) {
			if (w.counted == counted) != (at < 20) {
				t.Errorf("at %v %s waits for the census of the healthy node: %t", at, w.fence.Spec.NodeName, w.counted == counted)
			}
			got = append(got, w.fence.Spec.NodeName)
		}
		slices.Sort(got)
		return got
	}
	d.wakeAll(waitsForNoSlot, counted, sec(10))
	if diff := cmp.Diff([]string{"approval", "budget", "storm"}, woken(12)); diff != "" {
		t.Errorf("a node is healthy again: %s", diff)
	}
	d.wakeAll(whichever, nil, sec(20))
	if diff := cmp.Diff([]string{"approval", "budget", "checks", "slot", "storm"}, woken(22)); diff != "" {
		t.Errorf("somebody has changed a policy: %s", diff)
	}
}

// TestTheEndOfChecksWakesTheOldest of those that wait for it, and nobody else. A fence that was just woken comes last.
func TestTheEndOfChecksWakesTheOldest(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	waits := func(node string, opened float64, what api.WaitsFor) {
		f := fenceOf("1", check(3000), pending)
		at := metav1.NewMicroTime(sec(opened))
		f.Spec.NodeName, f.Status.OpenedAt, f.Status.WaitsFor = node, &at, what
		d.note(f, sec(0))
	}
	waits("third", 3, api.WaitsForCheckTurn)
	waits("second", 2, api.WaitsForCheckTurn)
	waits("first", 1, api.WaitsForCheckTurn)
	waits("slot", 0, api.WaitsForSlot)
	for _, c := range []struct {
		at   float64
		want []string
	}{{10, []string{"first", "second"}}, {10.5, []string{"third"}}} {
		d.wakeForChecks(sec(c.at))
		var got []string
		for _, w := range d.take(sec(c.at)) {
			got = append(got, w.fence.Spec.NodeName)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("at %v: %s", c.at, diff)
		}
	}
}

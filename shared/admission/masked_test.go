package admission_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestMostNodesAreCutOffAndHealOneByOne: more than half of the nodes are cut off, which is a storm besides
// MostLeasesStale, and heal one by one, in each order. The ledger has one storm from the first question on, no
// fence is admitted while nodes heal or within the cool-down, and the last node is admitted after it.
func TestMostNodesAreCutOffAndHealOneByOne(t *testing.T) { // S15
	for _, size := range []struct{ cut, total int }{{4, 6}, {6, 10}} {
		for order := range permutations(size.cut) {
			if why := healInOrder(admission.Admit, order, size.total); why != "" {
				t.Fatalf("%d of %d nodes heal in the order %v: %s", size.cut, size.total, order, why)
			}
		}
	}
}

// healInOrder has the first len(order) of total nodes cut off for 30 s and heal in that order, a second apart,
// but for the last one, which stays lost. Each node that is cut off asks for a slot each second while nodes heal.
// The limit is three nodes, and the cool-down a minute.
func healInOrder(admit admitter, order []int, total int) (broken string) {
	_, c, l := fencetest.World(fencetest.Start)
	c.Fences, c.Nodes = nil, c.Nodes[:total]
	c.Nodes[0].Unhealthy = false
	l.Status.Leases.Total = int32(total)
	cut := slices.Clone(order)
	healAt := map[int]int{}
	for i, n := range order[:len(order)-1] {
		healAt[n] = 30 + i
	}
	calmAt := 30 + len(order) - 4 // three are left
	for _, second := range append(secondsUntil(30+len(order)), calmAt+59, calmAt+60) {
		now := fencetest.Start.Add(time.Duration(second) * time.Second)
		cut = slices.DeleteFunc(cut, func(n int) bool { return healAt[n] > 0 && healAt[n] <= second })
		show(&c, l, cut, now)
		for _, n := range cut {
			f := c.Fences[slices.IndexFunc(c.Fences, func(f api.NodeFence) bool { return f.Name == c.Nodes[n].Name })]
			switch v := admit(&f, c, l, now); {
			case v == nil && second < calmAt+60:
				return fmt.Sprintf("second %d: %s is admitted", second, f.Name)
			case v == nil:
				return ""
			}
			if !slices.Equal(stormsOf("p", l), []bool{second >= calmAt}) {
				return fmt.Sprintf("second %d, the ledger has the storms %v", second, l.Status.Storms)
			}
		}
	}
	return "the last node is never admitted"
}

// secondsUntil are 0, 15, and each second from 29 to last.
func secondsUntil(last int) []int {
	all := []int{0, 15}
	for second := 29; second <= last; second++ {
		all = append(all, second)
	}
	return all
}

// show has the picture and the Leases show these nodes as cut off, each with a fence that waits for a slot.
func show(c *admission.Picture, l *api.FenceLedger, cut []int, now time.Time) {
	at, since := observed.StampOf(now), observed.StampOf(fencetest.Start.Add(-time.Minute))
	l.Status.Leases.ObservedAt, l.Status.Leases.Still, l.Status.Leases.StillCount = &at, nil, int32(len(cut))
	c.Fences = nil
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Unhealthy = slices.Contains(cut, i); n.Unhealthy {
			l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: n.Name, Stale: true, Since: since})
			f, _, _ := fencetest.World(now)
			f.Name, f.UID, f.Spec.NodeName = n.Name, types.UID("f"+n.Name), n.Name
			c.Fences = append(c.Fences, *f)
		}
	}
}

// permutations yields each order of 0 … n-1.
func permutations(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		var place func(order, left []int) bool
		place = func(order, left []int) bool {
			if len(left) == 0 {
				return yield(order)
			}
			for i, x := range left {
				if !place(append(slices.Clone(order), x), slices.Delete(slices.Clone(left), i, i+1)) {
					return false
				}
			}
			return true
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		place(nil, all)
	}
}

// admitter is Admit, or a broken twin of it.
type admitter func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict

// masking are the holds that answer before the storm of policy p, by name: each holds every fence that asks.
var masking = map[string]func(*admission.Picture, *api.FenceLedger){
	"Stopped":             func(_ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true },
	"StateWentBack":       func(_ *admission.Picture, l *api.FenceLedger) { l.Status.Restored = fencetest.Restored(0) },
	"PolicyNotUnderstood": func(_ *admission.Picture, l *api.FenceLedger) { l.NotUnderstood.Unknown = []string{"spec.brake"} },
	"LeasePictureOld": func(_ *admission.Picture, l *api.FenceLedger) {
		old := observed.StampOf(fencetest.Start.Add(-time.Minute))
		l.Status.Leases.ObservedAt = &old
	},
	moreStill: func(_ *admission.Picture, l *api.FenceLedger) { l.Status.Leases.StillCount = 9 },
	"MostLeasesStale": func(_ *admission.Picture, l *api.FenceLedger) {
		l.Status.Leases.Total, l.Status.Leases.Still = 3, []api.StillLease{{NodeName: "n0", Stale: true}, {NodeName: "n1", Stale: true}}
	},
	"missing nodes are uncounted": func(c *admission.Picture, _ *api.FenceLedger) { c.Uncounted = []string{"p"} },
	anotherScope: func(_ *admission.Picture, l *api.FenceLedger) {
		soon := observed.StampOf(fencetest.Start.Add(time.Second))
		l.Status.Storms = append(l.Status.Storms, api.Storm{Policy: "first", CoolDownUntil: &soon})
	},
}

const (
	// moreStill is a storm by itself: each node counts as unhealthy.
	moreStill = "more Leases stand still than are kept"
	// anotherScope cools down: that says nothing about the picture, by which the storm of p may cool down too.
	anotherScope = "another scope"
)

// TestEachHoldLeavesTheCount: whichever hold answers for all fences, more unhealthy nodes than the limit allows
// are a storm in the ledger, a storm under way does not cool down on that picture, and a cool-down that a new
// storm interrupts begins anew.
func TestEachHoldLeavesTheCount(t *testing.T) { // S15
	for name := range masking {
		for _, broken := range countUnder(name, admission.Admit) {
			t.Errorf("%s: %s", name, broken)
		}
	}
}

// countUnder says what is wrong with the storms of policy p while the hold answers.
func countUnder(name string, admit admitter) (broken []string) {
	now := fencetest.Start
	soon := observed.StampOf(now.Add(time.Second))
	for _, unhealthy := range []int{3, 4} {
		for before, storms := range map[string][]api.Storm{"none": nil, "under way": {{Policy: "p"}}, "cooling down": {{Policy: "p", CoolDownUntil: &soon}}} {
			f, c, l := fencetest.World(now)
			f.Status.Decision.Limits = append([]api.ScopedLimits{{Policy: "first", MaxUnhealthy: *fencetest.Percent("100%"), MaxConcurrent: 9}}, f.Status.Decision.Limits...)
			for i := range unhealthy {
				c.Nodes[i].Unhealthy = true
			}
			l.Status.Storms = slices.Clone(storms)
			masking[name](&c, l)
			want := []bool{false}
			if unhealthy == 3 && name != moreStill {
				want = stormsOf("p", l)
			}
			if admit(f, c, l, now) == nil {
				broken = append(broken, "a fence is admitted")
			}
			if got := stormsOf("p", l); !slices.Equal(got, want) && (unhealthy > 3 || name != anotherScope) {
				broken = append(broken, fmt.Sprintf("storm before %s, %d unhealthy: the storms cool down %v, not %v", before, unhealthy, got, want))
			}
		}
	}
	return broken
}

// stormsOf tells of each storm of a policy whether it cools down.
func stormsOf(policy string, l *api.FenceLedger) (all []bool) {
	for _, s := range l.Status.Storms {
		if s.Policy == policy {
			all = append(all, s.CoolDownUntil != nil)
		}
	}
	return all
}

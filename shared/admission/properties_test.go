package admission_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/random"
)

// What must hold between two decisions on one and the same snapshot: with more
// budget nothing is held that less would allow, and one more policy that selects
// the node, however lax, allows nothing that was held. (Between decisions at two
// times neither can hold: the fence that more budget allowed takes the room of the
// next.)

// snapshot is one moment of a cluster, with what is configured in it.
type snapshot struct {
	policies []api.FencePolicy
	fence    api.NodeFence
	cluster  admission.Picture
	ledger   api.FenceLedger
}

// gate is what the decision on a snapshot rests on: what it is shown, and the
// ledger's step.
type gate struct {
	show  func(*api.NodeFence, *admission.Picture)
	admit func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict
}

var ours = gate{func(*api.NodeFence, *admission.Picture) {}, admission.Admit}

// holds is why the fence of n0 does not begin in this snapshot; empty if it does. It
// goes the gate's own way: policies are resolved, the record is decided, and the
// ledger is asked where the record says so.
func (g gate) holds(s snapshot) api.Reason {
	s = s.copied()
	f := s.fence.DeepCopy()
	resolved, ok := policy.ResolvePolicy(s.policies, f.Spec.NodeName, labelsOf(s.cluster, f.Spec.NodeName))
	if !ok {
		return api.NoPolicy
	}
	f.Status.Decision.ResolvedPolicy = resolved
	g.show(f, &s.cluster)
	_, plane := s.cluster.Etcd[f.Spec.NodeName]
	st, act := fence.Decide(f, observed.Look{
		Me: "me", Resolved: true, Brakes: observed.Brakes{Looked: true, Counted: true}, Lease: observed.Lease{Exists: true, Renewed: "r", Renewal: fencetest.Renewal},
		Node: observed.Node{Exists: true, UID: "uid-1", ControlPlane: plane, Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}},
	}, fencetest.Start)
	if act != fence.Reserve {
		return st.Reason
	}
	if v := g.admit(f, s.cluster, s.ledger.DeepCopy(), fencetest.Start); v != nil {
		return v.Reason
	}
	return ""
}

// lax gives a second snapshot more budget than the first.
type lax func(r *rand.Rand, less, more *snapshot)

// laxer are the ways to do that, each of one field.
var laxer = map[string]lax{
	"maxUnhealthy": limits(func(r *rand.Rand, l *api.Limits) { l.MaxUnhealthy = moved(l.MaxUnhealthy, 1+r.IntN(3)) }),
	"maxUnhealthy of a zone": func(r *rand.Rand, less, more *snapshot) {
		less.policies[0].Spec.Limits = inZones(fencetest.Percent("100%"), 9, fencetest.Number(r.IntN(3)), 9)
		*more = less.copied()
		more.policies[0].Spec.Limits.PerDomain.MaxUnhealthy = fencetest.Number(3 + r.IntN(3))
	},
	"maxConcurrent of a zone": func(r *rand.Rand, less, more *snapshot) {
		less.policies[0].Spec.Limits = inZones(fencetest.Percent("100%"), 9, fencetest.Percent("100%"), int32(1+r.IntN(2)))
		*more = less.copied()
		*more.policies[0].Spec.Limits.PerDomain.MaxConcurrent += int32(1 + r.IntN(2))
	},
	"maxUnhealthy beside a zone's": func(r *rand.Rand, less, more *snapshot) {
		less.policies[0].Spec.Limits = inZones(fencetest.Number(r.IntN(3)), 9, fencetest.Percent("100%"), 9)
		*more = less.copied()
		more.policies[0].Spec.Limits.MaxUnhealthy = fencetest.Number(3 + r.IntN(5))
	},
	"maxConcurrent beside a zone's": func(r *rand.Rand, less, more *snapshot) {
		less.policies[0].Spec.Limits = inZones(fencetest.Percent("100%"), int32(1+r.IntN(2)), fencetest.Percent("100%"), 9)
		*more = less.copied()
		*more.policies[0].Spec.Limits.MaxConcurrent += int32(1 + r.IntN(2))
	},
	"no zones": limits(func(_ *rand.Rand, l *api.Limits) { l.PerDomain = nil }),
	"maxConcurrent": limits(func(r *rand.Rand, l *api.Limits) {
		more := int32(1 + r.IntN(3))
		l.MaxConcurrent = new(*l.MaxConcurrent + more)
	}),
	"rate, more fences": limits(func(r *rand.Rand, l *api.Limits) {
		if l.MaxRate != nil {
			l.MaxRate.Count += int32(1 + r.IntN(3))
		}
	}),
	"rate, in less time": limits(func(r *rand.Rand, l *api.Limits) {
		if l.MaxRate != nil {
			l.MaxRate.Period = *api.DurationOf((l.MaxRate.Period.Get() / time.Duration(2+r.IntN(8))).Round(time.Second))
		}
	}),
	"no rate": limits(func(_ *rand.Rand, l *api.Limits) { l.MaxRate = nil }),
	"perNode": limits(func(r *rand.Rand, l *api.Limits) {
		l.PerNode = fencetest.PerDay(int(l.PerNode.Settings().CutsPerDay) + 1 + r.IntN(3))
	}),
	"stormCoolDown": limits(func(_ *rand.Rand, l *api.Limits) { l.StormCoolDown = api.DurationOf(0) }),
	"a budget's maxUnavailable": budgeted(func(r *rand.Rand, b *api.FenceBudgetSpec) {
		b.MaxUnavailable = moved(b.MaxUnavailable, 1+r.IntN(3))
	}),
	"a budget's minAvailable": budgeted(func(r *rand.Rand, b *api.FenceBudgetSpec) {
		b.MinAvailable = moved(b.MinAvailable, -1-r.IntN(3))
	}),
	"no budget": func(_ *rand.Rand, _, more *snapshot) { more.cluster.Budgets = nil },
	"controlPlane": func(_ *rand.Rand, less, _ *snapshot) {
		for i := range less.policies {
			less.policies[i].Spec.ControlPlane.Fence = new(api.Never)
		}
	},
	// The other way about: less is what has the policy.
	"no policy besides": func(r *rand.Rand, less, more *snapshot) { overlap(r, less, more, sampleLimits(r)) },
	"no policy besides, and that one allowed everything": func(r *rand.Rand, less, more *snapshot) {
		overlap(r, less, more, api.Limits{MaxUnhealthy: fencetest.Percent("100%"), MaxConcurrent: new(int32(1000)), PerNode: fencetest.PerDay(100)})
	},
}

// overlap adds a policy of other limits at any place in the order, a tie included.
// The others have no tie among them: that is no limit, and one that goes before
// them ends it.
func overlap(r *rand.Rand, less, more *snapshot, l api.Limits) {
	for i := range less.policies {
		less.policies[i].Spec.Precedence, more.policies[i].Spec.Precedence = new(int32(10*i)), new(int32(10*i))
	}
	p := samplePolicy(r, len(less.policies))
	p.Spec.Precedence, p.Spec.Limits = new(int32(r.IntN(40)-5)), l
	if r.IntN(3) == 0 {
		p.Spec.Precedence = new(int32(0))
	}
	less.policies = append(less.policies, p)
}

func limits(change func(*rand.Rand, *api.Limits)) lax {
	return func(r *rand.Rand, _, more *snapshot) {
		change(r, &more.policies[r.IntN(len(more.policies))].Spec.Limits)
	}
}

func budgeted(change func(*rand.Rand, *api.FenceBudgetSpec)) lax {
	return func(r *rand.Rand, _, more *snapshot) {
		for i := range more.cluster.Budgets {
			change(r, &more.cluster.Budgets[i].Spec)
		}
	}
}

// moved is a number or share that is so much more, or ten percent for each.
func moved(v *intstr.IntOrString, by int) *intstr.IntOrString {
	if v == nil {
		return nil
	}
	if v.Type == intstr.Int {
		return fencetest.Number(max(0, v.IntValue()+by))
	}
	var share int
	_, _ = fmt.Sscanf(v.StrVal, "%d%%", &share)
	return fencetest.Percent(fmt.Sprintf("%d%%", min(100, max(0, share+10*by))))
}

// inZones are limits over all nodes, and in each zone.
func inZones(unhealthy *intstr.IntOrString, concurrent int32, unhealthyThere *intstr.IntOrString, concurrentThere int32) api.Limits {
	return api.Limits{
		MaxUnhealthy: unhealthy, MaxConcurrent: &concurrent, PerNode: fencetest.PerDay(9),
		PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: unhealthyThere, MaxConcurrent: &concurrentThere},
	}
}

// contradiction looks for a snapshot in which more budget holds what less allows,
// and counts those in which it allows what less holds. A tenth of the rounds (package random) goes on
// until there is one of these.
func contradiction(g gate, give lax, r *rand.Rand, rounds int) (at string, differ int) {
	for round := 0; round < rounds && (round < random.Histories(rounds) || differ == 0); round++ {
		less := sample(r)
		more := less.copied()
		give(r, &less, &more)
		was, is := g.holds(less), g.holds(more)
		if was != "" && is == "" {
			differ++
		}
		if was == "" && is != "" {
			return fmt.Sprintf("allowed with less, %s with more\n%s%snodes %+v\nledger %+v", is, cmp.Diff(less.policies, more.policies),
				cmp.Diff(less.cluster.Budgets, more.cluster.Budgets), less.cluster.Nodes, less.ledger.Status), differ
		}
	}
	return "", differ
}

func TestMoreBudgetHoldsNothing(t *testing.T) { // S14
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, name := range slices.Sorted(maps.Keys(laxer)) {
		at, differ := contradiction(ours, laxer[name], rand.New(rand.NewPCG(seed, 0)), 6000)
		switch {
		case at != "":
			t.Errorf("%s: %s", name, at)
		case differ == 0:
			t.Errorf("%s: it never made a difference, so nothing was shown", name)
		}
		t.Logf("%s: made a difference %d times", name, differ)
	}
}

func labelsOf(c admission.Picture, node string) map[string]string {
	for _, n := range c.Nodes {
		if n.Name == node {
			return n.Labels
		}
	}
	return nil
}

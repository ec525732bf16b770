package admission_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/random"
)

// asker is who admits a fence, or a dry run.
type asker func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict

func dryAsk(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	return admission.AdmitDryRun(admission.ForSlot, f, nil, c, l, now)
}

// The broken twins of the two lists: real fences count dry reservations, and dry runs overlook real ones.
func realCountsDry(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	with := admission.WithDryRuns(l, c)
	if v := admission.Admit(f, c, with, now); v != nil {
		return v
	}
	return admission.Admit(f, c, l, now)
}

func dryIgnoresReal(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	c.Fences = slices.DeleteFunc(slices.Clone(c.Fences), func(o api.NodeFence) bool { return o.HoldsSlot() })
	return dryAsk(f, c, l, now)
}

// lab is a cluster in which fences ask one after the other under one mode.
type lab struct {
	snapshot
	mode api.Mode
	ask  asker
	now  time.Time
	said []string
}

// newLab opens a fence of each unhealthy node that has none. The nodes' fences are opened a second apart, the last
// node's first.
func newLab(s snapshot, mode api.Mode, ask asker) *lab {
	b := &lab{snapshot: s.copied(), mode: mode, ask: ask, now: fencetest.Start}
	b.ledger = *s.ledger.DeepCopy()
	b.cluster.Nodes = slices.Clone(s.cluster.Nodes)
	b.cluster.Fences = slices.DeleteFunc(slices.Clone(s.cluster.Fences), func(f api.NodeFence) bool { return !f.HoldsSlot() })
	for i := range b.policies {
		b.policies[i].Spec.Mode = mode
	}
	for i, n := range b.cluster.Nodes {
		has := slices.ContainsFunc(b.cluster.Fences, func(f api.NodeFence) bool { return f.Spec.NodeName == n.Name })
		resolved, ok := policy.ResolvePolicy(b.policies, n.Name, n.Labels)
		if !n.Unhealthy || has || !ok {
			continue
		}
		f := fencetest.Running(n.Name, types.UID("f-"+n.Name), api.Pending)
		opened := observed.StampOf(b.now.Add(-time.Duration(i+1) * time.Second))
		f.Status.OpenedAt, f.Status.Decision.ResolvedPolicy, f.ResourceVersion = &opened, resolved, "1"
		b.cluster.Fences = append(b.cluster.Fences, f)
	}
	return b
}

// waiting returns the fences that wait, the oldest first.
func (b *lab) waiting() (all []*api.NodeFence) {
	for i := range b.cluster.Fences {
		f := &b.cluster.Fences[i]
		if f.Open() && f.CurrentPhase() == api.Pending && f.Status.WouldBeginAt == nil && f.Status.OpenedAt != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, admission.ByAge)
	return all
}

// admit asks for one fence, and writes into its record what a gate would.
func (b *lab) admit(f *api.NodeFence) {
	seen := observed.StampOf(b.now)
	b.ledger.Status.Leases.ObservedAt = &seen
	v := b.ask(f, b.cluster, &b.ledger, b.now)
	if v != nil {
		b.said = append(b.said, fmt.Sprintf("%s: %s: %s", f.Spec.NodeName, v.Reason, v.Message))
		return
	}
	b.said = append(b.said, f.Spec.NodeName+": begins")
	switch r := admission.DryRunOf(&b.ledger, f); {
	case r != nil && r.Drain:
		f.Status.WouldDrainAt = &seen
		return
	case r != nil:
		f.Status.WouldBeginAt = &seen
		return
	}
	f.Status.Phase, f.Status.DecidedAt = api.Isolating, &seen
}

// wave asks for each waiting fence once, in the order of the queue.
func (b *lab) wave() []string {
	for _, f := range b.waiting() {
		b.admit(f)
	}
	return b.said
}

// heal has the node of a fence heal, and ends the fence.
func (b *lab) heal(f *api.NodeFence) {
	f.Status.Phase, f.Status.WouldBeginAt = api.Finished, nil
	for i := range b.cluster.Nodes {
		if b.cluster.Nodes[i].Name == f.Spec.NodeName {
			b.cluster.Nodes[i].Unhealthy = false
		}
	}
}

// history lets fences ask, and nodes heal, as r says. A dry run forgets a healed node, which maxRate remembers under
// Enforce: with a maxRate no node heals.
func (b *lab) history(r *rand.Rand) []string {
	rated := slices.ContainsFunc(b.policies, func(p api.FencePolicy) bool { return p.Spec.Limits.MaxRate != nil })
	for range 14 {
		b.now = b.now.Add(time.Duration(r.IntN(3)) * time.Second)
		all, heals := b.waiting(), r.IntN(6) == 0
		var begun []*api.NodeFence
		for i := range b.cluster.Fences {
			if f := &b.cluster.Fences[i]; f.Open() && f.Status.OpenedAt != nil && (f.HoldsSlot() || f.Status.WouldBeginAt != nil) {
				begun = append(begun, f)
			}
		}
		switch {
		case heals && !rated && len(begun) > 0:
			b.heal(begun[r.IntN(len(begun))])
		case len(all) > 0:
			b.admit(all[r.IntN(len(all))])
		}
	}
	return b.said
}

// rehearsed compares a dry run with Enforce on random histories, and tells where they differ; empty if nowhere.
func rehearsed(ask asker, seed uint64, rounds int) (at string, begun, held int) {
	for round := range uint64(rounds) {
		s := sample(rand.New(rand.NewPCG(seed, round)))
		want := newLab(s, api.ModeEnforce, admission.Admit).history(rand.New(rand.NewPCG(round, seed)))
		got := newLab(s, api.ModeDryRun, ask).history(rand.New(rand.NewPCG(round, seed)))
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Sprintf("round %d: Enforce - and DryRun + differ:\n%s", round, d), begun, held
		}
		for _, said := range got {
			if strings.HasSuffix(said, ": begins") {
				begun++
			} else {
				held++
			}
		}
	}
	return "", begun, held
}

// TestADryRunAnswersAsEnforce in random histories: the same names in the same order, with the same reasons and
// numbers (S14, S15).
func TestADryRunAnswersAsEnforce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	at, begun, held := rehearsed(dryAsk, seed, random.Histories(4000))
	if at != "" || begun == 0 || held == 0 {
		t.Errorf("%d began and %d were held. %s", begun, held, at)
	}
	if at, _, _ := rehearsed(dryIgnoresReal, seed, 4000); at == "" {
		t.Error("a dry run that overlooks real fences was not caught")
	}
}

// counts looks for a real fence whose answer depends on dry reservations; empty if there is none.
func counts(ask asker, seed uint64, rounds int) string {
	for round := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, round))
		s := sample(r)
		dry := newLab(s, api.ModeDryRun, dryAsk)
		dry.wave()
		if len(dry.ledger.Status.DryRuns) == 0 {
			continue
		}
		all := dry.waiting()
		if len(all) == 0 {
			continue
		}
		f := all[r.IntN(len(all))].DeepCopy()
		f.Status.Decision.Settings.Mode = api.ModeEnforce
		without := dry.ledger.DeepCopy()
		without.Status.DryRuns = nil
		alone := dry.cluster
		alone.Fences = slices.Clone(dry.cluster.Fences)
		for i := range alone.Fences {
			alone.Fences[i].Status.WouldBeginAt = nil
		}
		want, got := admission.Admit(f, alone, without, dry.now), ask(f, dry.cluster, &dry.ledger, dry.now)
		without.Status.DryRuns, dry.ledger.Status.DryRuns = nil, nil
		if d := cmp.Diff(want, got) + cmp.Diff(without.Status, dry.ledger.Status); d != "" {
			return fmt.Sprintf("round %d: without dry runs - and beside them +:\n%s", round, d)
		}
	}
	return ""
}

// TestNoRealFenceCountsADryRun: answer and ledger are the same with dry reservations and without (S14).
func TestNoRealFenceCountsADryRun(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	if at := counts(admission.Admit, seed, random.Histories(4000)); at != "" {
		t.Error(at)
	}
	if at := counts(realCountsDry, seed, 4000); at == "" {
		t.Error("a gate that counts dry reservations for real fences was not caught")
	}
}

// deadOf makes a cluster of ten nodes in two zones under one policy, of which some are dead.
func deadOf(limits api.Limits, dead ...int) snapshot {
	var s snapshot
	seen, since := observed.StampOf(fencetest.Start), observed.StampOf(fencetest.Start.Add(-time.Minute))
	s.ledger.Status.Leases = api.LeasePicture{Since: &since, ObservedAt: &seen, Total: 10, Renewal: metav1.Duration{Duration: fencetest.Renewal}}
	for i := range 10 {
		labels := map[string]string{fencetest.ZoneKey: map[bool]string{true: "a", false: "b"}[i < 5]}
		s.cluster.Nodes = append(s.cluster.Nodes, admission.Node{Name: fmt.Sprintf("n%d", i), Labels: labels, Unhealthy: slices.Contains(dead, i)})
	}
	s.policies = []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Selector: policy.EveryNode, UnhealthyConditions: []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}, Action: api.ActionReboot, Limits: limits,
	}}}
	return s
}

// TestTheFirstWaveOfADryRun is the first wave of Enforce: storm, zone loss, rate, budget, slots and age.
func TestTheFirstWaveOfADryRun(t *testing.T) {
	many := new(int32(9))
	budget := func(s snapshot, spec api.FenceBudgetSpec) snapshot {
		s.cluster.Budgets = []api.FenceBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: spec}}
		return s
	}
	for name, c := range map[string]struct {
		of   snapshot
		want []string
	}{
		"a storm": {deadOf(api.Limits{MaxUnhealthy: fencetest.Number(2), MaxConcurrent: many}, 0, 1, 2, 3), []string{
			"n3: TooManyUnhealthy: policy p: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)", "n2: TooManyUnhealthy: policy p: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)",
			"n1: TooManyUnhealthy: policy p: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)", "n0: TooManyUnhealthy: policy p: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)"}},
		"a zone is lost": {deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: many,
			PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Number(1), MaxConcurrent: many}}, 0, 1, 7), []string{
			"n7: begins", "n1: TooManyUnhealthy: policy p, " + fencetest.ZoneKey + "=a: 2 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 1 (1)",
			"n0: TooManyUnhealthy: policy p, " + fencetest.ZoneKey + "=a: 2 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 1 (1)"}},
		"the rate": {deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: many, MaxRate: &api.Rate{Count: 2, Period: *api.DurationOf(time.Hour)}}, 0, 1, 2), []string{
			"n2: begins", "n1: begins", "n0: TooManyInATime: policy p: 2 fences began within 1h0m0s, 2 are allowed; the next in 1h0m0s"}},
		"the oldest take the slots": {deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: new(int32(2))}, 0, 1, 2), []string{
			"n2: begins", "n1: begins", "n0: TooManyConcurrent: policy p: 2 fences are running, maxConcurrent is 2"}},
		"a budget": {budget(deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: many}, 0, 1), api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)}), []string{
			"n1: begins", "n0: BudgetExhausted: FenceBudget b: 1 of its 10 nodes are being fenced, maxUnavailable is 1 (1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			enforce, dry := newLab(c.of, api.ModeEnforce, admission.Admit), newLab(c.of, api.ModeDryRun, dryAsk)
			if d := cmp.Diff(c.want, enforce.wave()); d != "" {
				t.Errorf("Enforce: %s", d)
			}
			if d := cmp.Diff(c.want, dry.wave()); d != "" {
				t.Errorf("DryRun: %s", d)
			}
			if st := dry.ledger.Status; len(st.Reservations)+len(st.Admitted)+len(st.Draining)+len(st.UnderWay) > 0 {
				t.Errorf("a dry run takes what is real: %+v", st)
			}
			if d := cmp.Diff(enforce.ledger.Status.Storms, dry.ledger.Status.Storms); d != "" {
				t.Errorf("the storms differ: %s", d)
			}
		})
	}
}

// TestWhatADryRunKeeps: its reservation lasts as long as its record has it, and ends with the fence, another mode
// and a hold; a ledger that was lost is rebuilt from the records (S14).
func TestWhatADryRunKeeps(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(-time.Hour))
	asks := func(s snapshot) *lab {
		b := newLab(s, api.ModeDryRun, dryAsk)
		f := b.waiting()[0]
		f.Status.WouldBeginAt = &at
		b.ledger.Status.DryRuns = []api.DryReservation{{Reservation: api.Reservation{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: 1, At: at, FenceVersion: "1"}}}
		return b
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *api.FenceLedger)
		want   string
	}{
		"the record has it":                 {func(*api.NodeFence, *api.FenceLedger) {}, "n0: TooManyConcurrent"},
		"the ledger was lost":               {func(_ *api.NodeFence, l *api.FenceLedger) { l.Status.DryRuns = nil }, "n0: TooManyConcurrent"},
		"the record does not have it":       {func(f *api.NodeFence, _ *api.FenceLedger) { f.Status.WouldBeginAt = nil }, "n0: begins"},
		"the fence is closed":               {func(f *api.NodeFence, _ *api.FenceLedger) { f.Status.Phase = api.Finished }, "n0: begins"},
		"its policy enforces, and it waits": {func(f *api.NodeFence, _ *api.FenceLedger) { f.Status.Decision.Settings.Mode = api.ModeEnforce }, "n0: begins"},
		"another fence of the node": {func(f *api.NodeFence, _ *api.FenceLedger) {
			f.Status.FenceNumber, f.Status.WouldBeginAt = 2, nil
		}, "n0: begins"},
		"made a moment ago, and not written yet": {func(f *api.NodeFence, l *api.FenceLedger) {
			f.Status.WouldBeginAt, l.Status.DryRuns[0].At = nil, observed.StampOf(fencetest.Start)
		}, "n0: TooManyConcurrent"},
		"made by a clock that was ahead, and not written": {func(f *api.NodeFence, l *api.FenceLedger) {
			f.Status.WouldBeginAt, l.Status.DryRuns[0].At = nil, observed.StampOf(fencetest.Start.Add(time.Hour))
		}, "n0: begins"},
		"made a moment ago, and given back": {func(f *api.NodeFence, l *api.FenceLedger) {
			now := observed.StampOf(fencetest.Start)
			f.Status.WouldBeginAt, f.Status.GivenBack, l.Status.DryRuns[0].At = nil, &now, now
		}, "n0: begins"},
	} {
		t.Run(name, func(t *testing.T) {
			b := asks(deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: new(int32(1))}, 0, 1))
			first := b.cluster.Fences[slices.IndexFunc(b.cluster.Fences, func(f api.NodeFence) bool { return f.Spec.NodeName == "n1" })]
			i := slices.IndexFunc(b.cluster.Fences, func(f api.NodeFence) bool { return f.Spec.NodeName == "n1" })
			c.change(&first, &b.ledger)
			b.cluster.Fences[i] = first
			for _, f := range b.waiting() {
				if f.Spec.NodeName == "n0" {
					b.admit(f)
				}
			}
			if len(b.said) != 1 || !strings.HasPrefix(b.said[0], c.want) {
				t.Errorf("said %v, want %s", b.said, c.want)
			}
		})
	}
}

// TestADryRunTakesItsPlaceAnew: a fence that asks is given a time that its next look accepts, whatever the ledger has
// of it: else it would ask again and again (S17).
func TestADryRunTakesItsPlaceAnew(t *testing.T) {
	at := func(ago time.Duration) api.Time { return observed.StampOf(fencetest.Start.Add(-ago)) }
	old := at(time.Hour)
	for name, c := range map[string]struct {
		ledger api.Time
		record *api.Time
		want   api.Time
	}{
		"nobody wrote the yes, and it is too old": {at(63 * time.Second), nil, at(0)},
		"the clock was set back":                  {at(-time.Hour), nil, at(0)},
		"the record has an older one":             {at(63 * time.Second), &old, old},
		"both have the same":                      {old, &old, old},
	} {
		b := newLab(deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9)}, 0), api.ModeDryRun, dryAsk)
		f := b.waiting()[0]
		f.Status.WouldBeginAt = c.record
		b.ledger.Status.DryRuns = []api.DryReservation{{Reservation: api.Reservation{NodeName: "n0", FenceUID: f.UID, FenceNumber: 1, At: c.ledger, FenceVersion: "1"}}}
		v := dryAsk(f, b.cluster, &b.ledger, b.now)
		if all := b.ledger.Status.DryRuns; v != nil || len(all) != 1 || !all[0].At.Equal(&c.want) {
			t.Errorf("%s: %+v, %+v, want %s", name, v, all, c.want)
		}
	}
}

// TestADryDrain takes a place among drains, and no slot.
func TestADryDrain(t *testing.T) {
	b := newLab(deadOf(api.Limits{MaxUnhealthy: fencetest.Number(9), MaxConcurrent: new(int32(1))}, 0, 1), api.ModeDryRun, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		return admission.AdmitDryRun(admission.ForDrain, f, nil, c, l, now)
	})
	want := []string{"n1: begins", "n0: TooManyConcurrent: policy p: 1 nodes drain, or have drained and wait for a slot, maxConcurrent is 1"}
	if d := cmp.Diff(want, b.wave()); d != "" {
		t.Error(d)
	}
	if all := b.ledger.Status.DryRuns; len(all) != 1 || !all[0].Drain || len(b.ledger.Status.Draining) > 0 {
		t.Errorf("dry runs %+v, draining %+v", all, b.ledger.Status.Draining)
	}
}

// TestAStormOfADryRunHoldsEnforce: the storm stands in the ledger, and its cool-down holds the fences of the policy
// once that enforces (S15).
func TestAStormOfADryRunHoldsEnforce(t *testing.T) {
	b := newLab(deadOf(api.Limits{MaxUnhealthy: fencetest.Number(2), MaxConcurrent: new(int32(9)), StormCoolDown: api.DurationOf(time.Minute)}, 0, 1, 2), api.ModeDryRun, dryAsk)
	b.wave()
	b.heal(b.waiting()[0])
	b.heal(b.waiting()[0])
	f := b.waiting()[0]
	f.Status.Decision.Settings.Mode, b.mode, b.ask, b.said = api.ModeEnforce, api.ModeEnforce, admission.Admit, nil
	if b.admit(f); len(b.said) != 1 || !strings.HasPrefix(b.said[0], "n0: StormCoolDown") {
		t.Errorf("%v, storms %+v", b.said, b.ledger.Status.Storms)
	}
}

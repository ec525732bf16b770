package fence_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// suspectWorld is fencetest.World, in which n0 counts as Ready and its Lease, which is
// renewed each 10 s, has stood still for so long.
func suspectWorld(still time.Duration) (*api.NodeFence, admission.Picture, *api.FenceLedger) {
	f, c, l := fencetest.World(fencetest.Start)
	c.Nodes[0].Unhealthy = false
	f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}}
	f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: 12 * time.Second}}
	f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: time.Minute}}}
	since := observed.StampOf(fencetest.Start.Add(-still))
	f.Status.Lease = api.LeaseRecord{Renewed: "m", StillSince: &since}
	l.Status.Leases.Still = []api.StillLease{{NodeName: "n0", Renewed: "m", Since: since}}
	return f, c, l
}

func TestAdmitASuspect(t *testing.T) { // S14, S15, S16
	held := func(f *api.NodeFence, ago time.Duration) {
		f.Status.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Since: observed.StampOf(fencetest.Start.Add(-ago))}}
	}
	still := func(l *api.FenceLedger, nodes ...string) {
		for _, n := range nodes {
			l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: n})
		}
	}
	for name, c := range map[string]struct {
		still  time.Duration
		change func(*api.NodeFence, *admission.Picture, *api.FenceLedger)
		want   api.Reason
		again  time.Duration
	}{
		"once every node of the same moment would show it begins": {23 * time.Second, nil, "", 0},
		"before that it waits": {12 * time.Second, nil, api.WaitingForTime, 11 * time.Second},
		"one of three others lost at once is a storm": {23 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			still(l, "n1", "n2", "n3")
		}, api.TooManyUnhealthy, 10 * time.Second},
		"the storm is noted while it waits": {12 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			still(l, "n1", "n2", "n3")
		}, api.TooManyUnhealthy, 10 * time.Second},
		"it waits for a slot like any other": {23 * time.Second, func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n9", "f9", api.Fencing))
		}, api.TooManyConcurrent, 20 * time.Second},
		"a budget binds it like any other": {23 * time.Second, func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n9", "f9", api.Fencing))
			fencetest.Limits(f).MaxConcurrent = 5
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
		}, api.BudgetExhausted, 20 * time.Second},
		"most Leases still at once is us (S16)": {23 * time.Second, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxUnhealthy = *fencetest.Number(10)
			still(l, "n1", "n2", "n3", "n4", "n5")
		}, api.MostLeasesStale, 10 * time.Second},
		"but for those of machines that are kept off": {23 * time.Second, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxUnhealthy = *fencetest.Number(10)
			still(l, "n1", "n2", "n3", "n4", "n5")
			l.Status.Census = &api.Census{ObservedAt: observed.StampOf(fencetest.Start)}
			for _, n := range []string{"n1", "n2", "n3"} {
				l.Status.Census.Fences = append(l.Status.Census.Fences, api.CountedFence{NodeName: n, Phase: api.Fenced, Marks: []api.FenceMark{api.FenceServed}})
			}
		}, "", 0},
		"an old picture shows nothing": {23 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			old := observed.StampOf(fencetest.Start.Add(-facts.Resync - time.Second))
			l.Status.Leases.ObservedAt = &old
		}, api.LeasePictureOld, 5 * time.Second},
		"the source has to have seen it too": {23 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Still = nil
		}, api.LeaseStandsStill, 5 * time.Second},
		"at the mark at which it stands": {23 * time.Second, func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) {
			f.Status.Lease.Renewed = "another"
		}, api.LeaseStandsStill, 5 * time.Second},
		"since when is the source's word": {50 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Still[0].Since = observed.StampOf(fencetest.Start.Add(-13 * time.Second))
		}, api.WaitingForTime, 10 * time.Second},
		"the longest renewal counts": {23 * time.Second, func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Renewal.Duration = 20 * time.Second
		}, api.WaitingForTime, 22 * time.Second},
		"a condition that has held for its time needs no Lease": {0, func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			held(f, time.Minute)
			l.Status.Leases.Still = nil
		}, "", 0},
		"one that has not does not help": {12 * time.Second, func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) {
			held(f, 59*time.Second)
		}, api.WaitingForTime, 11 * time.Second},
	} {
		f, cl, l := suspectWorld(c.still)
		if c.change != nil {
			c.change(f, &cl, l)
		}
		got := observed.Verdict{}
		if v := admission.Admit(f, cl, l, fencetest.Start); v != nil {
			got = *v
		}
		if got.Reason != c.want || got.Again != c.again {
			t.Errorf("%s: %s, again in %s (%s)", name, got.Reason, got.Again, got.Message)
		}
		if c.want == api.TooManyUnhealthy && len(l.Status.Storms) != 1 {
			t.Errorf("%s: storms %v", name, l.Status.Storms)
		}
	}
}

// TestASlotGivenBack is free for others at once, and does not come back.
func TestASlotGivenBack(t *testing.T) { // S14
	f, c, l := suspectWorld(30 * time.Second)
	at := observed.StampOf(fencetest.Start.Add(-time.Second))
	l.Status.Reservations = []api.Reservation{{NodeName: "n0", FenceUID: "f0", FenceNumber: 1, At: at}}
	if admission.ReservedAt(l, f) == nil {
		t.Error("the slot is not there to begin with")
	}
	f.Status.GivenBack = &at
	c.Fences[0] = *f
	fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 1, Period: metav1.Duration{Duration: time.Hour}}
	l.Status.Admitted = slices.Clone(l.Status.Reservations)
	if admission.ReservedAt(l, f) != nil {
		t.Error("the fence takes the slot that it gave back")
	}
	other := fencetest.Running("n9", "f9", api.Pending)
	other.Status.Decision.ResolvedPolicy = api.ResolvedPolicy{Limits: f.Status.Decision.Limits}
	c.Fences = append(c.Fences, other)
	if v := admission.Admit(&other, c, l, fencetest.Start); v != nil {
		t.Errorf("another fence is held: %s", v.Message)
	}
	l.Status.Reservations, l.Status.Admitted = nil, nil
	c.Fences = c.Fences[:1]
	if v := admission.Admit(f, c, l, fencetest.Start); v != nil || admission.ReservedAt(l, f) == nil {
		t.Errorf("asked again it gets none: %v", v)
	}
}

// TestSuspectNeverBegins: what holds a fence holds one for its Lease alone, and
// what would make another one fail only has it wait for the ordinary time.
func TestSuspectNeverBegins(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		why    api.Reason
	}{
		"control-plane nodes": {func(_ *api.NodeFence, s *observed.Look) { s.Node.ControlPlane = true }, api.ControlPlaneNode},
		"excluded nodes":      {func(_ *api.NodeFence, s *observed.Look) { s.Node.Excluded = "the label" }, api.Excluded},
		"our own machine":     {func(_ *api.NodeFence, s *observed.Look) { s.Self = true }, api.OwnMachine},
		"a pause":             {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }, api.Paused},
		"approval": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
		}, api.WaitingForApproval},
		"no device is no failure": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = nil, "none", true
		}, api.BindingInvalid},
		"its time is not over": {func(_ *api.NodeFence, s *observed.Look) {
			s.Lease.StillSince = fencetest.Start.Add(-specs.EarlyStill + time.Second)
		}, api.WaitingForTime},
		"it was read a moment ago": {func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(fencetest.Start.Add(time.Second))
			f.Status.Power.NotBefore = &at
		}, api.LeaseStandsStill},
	} {
		f := &api.NodeFence{Spec: specs.Early().AsSpec(), Status: specs.Early().In(api.NodeFenceStatus{})}
		since, opened := observed.StampOf(fencetest.Start.Add(-time.Second)), observed.StampOf(fencetest.Start)
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &opened,
			Lease: api.LeaseRecord{Renewed: "r0", StillSince: &since}}
		seen := fencetest.Look(f, fencetest.Start, "True", false, "a")
		seen.Lease.StillSince = fencetest.Start.Add(-specs.EarlyStill)
		c.change(f, &seen)
		st, act := fence.Decide(f, seen, fencetest.Start)
		if st.Reason != c.why || st.Phase != api.Pending || act != fence.None {
			t.Errorf("%s: %s %s (%s), action %q", name, st.Phase, st.Reason, st.Message, act)
		}
	}
}

func TestAnEarlyProbeNeedsADeviceToAsk(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.ResolvedPolicy)
		want   bool
	}{
		"where the policy says so":                          {func(*api.ResolvedPolicy) {}, true},
		"not unless it does":                                {func(p *api.ResolvedPolicy) { p.Settings.EarlyProbe = nil }, false},
		"not in a dry run":                                  {func(p *api.ResolvedPolicy) { p.Settings.Mode = api.ModeDryRun }, false},
		"not where a person confirms that machines are off": {func(p *api.ResolvedPolicy) { p.Settings.Action = api.ActionWaitForOff }, false},
	} {
		p := specs.Early().Decision.ResolvedPolicy
		c.change(&p)
		if got := facts.Early(p) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOurMark: Ready=Unknown by our own hand is no condition until Kubernetes has
// lost the node too.
func TestOurMark(t *testing.T) {
	ours := observed.Condition{Type: "Ready", Status: "Unknown", Reason: api.NotReadyReason, Since: fencetest.Start}
	for name, c := range map[string]struct {
		conditions []observed.Condition
		want       int
	}{
		"our own mark is none":                   {[]observed.Condition{ours, {Type: "MemoryPressure", Status: "False"}}, 0},
		"Kubernetes has lost it since":           {[]observed.Condition{ours, {Type: "MemoryPressure", Status: "Unknown"}}, 1},
		"Kubernetes lost it by itself":           {[]observed.Condition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown"}}, 1},
		"another's condition says nothing of it": {[]observed.Condition{ours, {Type: "KernelDeadlock", Status: "Unknown"}}, 0},
		"without earlyProbe it is as it was":     {[]observed.Condition{ours}, 1},
	} {
		f := &api.NodeFence{Spec: specs.Early().AsSpec(), Status: specs.Early().In(api.NodeFenceStatus{})}
		if name == "without earlyProbe it is as it was" {
			f.Status.Decision.Settings.EarlyProbe = nil
		}
		seen := fencetest.Look(f, fencetest.Start, "True", false, "a")
		seen.Node.Conditions = c.conditions
		if st, _ := fence.Decide(f, seen, fencetest.Start); len(st.Evidence) != c.want {
			t.Errorf("%s: %v", name, st.Evidence)
		}
	}
}

package fence_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// underPolicy is a fence between its yes and its Off: our taint is placed and the machine
// was read on.
func underPolicy(policies []api.FencePolicy, begun bool) *api.NodeFence {
	f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	f.Name, f.UID, f.Spec.NodeName = "n0", "fence-1", "n0"
	frozen, _ := policy.ResolvePolicy(policies, "n0", nil)
	f.Status.Decision.ResolvedPolicy = *frozen.DeepCopy()
	at := observed.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, BootIDBefore: "a",
		Placed: api.Placed{Taint: true}, Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &api.Read{State: api.PoweredOn, At: at}}},
	}
	if begun {
		f.Status.Power.SwitchedByUs, f.Status.Power.CutAt, f.Status.Power.Cut = true, &at, []int32{0}
	}
	return f
}

// lookBeforeOff is what power sees right before the Off.
func lookBeforeOff(f *api.NodeFence, policies []api.FencePolicy, c admission.Picture, l *api.FenceLedger) observed.Look {
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	for _, n := range c.Nodes {
		if n.Name == f.Spec.NodeName {
			seen.Node.Excluded, seen.Node.ControlPlane, seen.Node.Labels = n.Excluded, n.ControlPlane, n.Labels
		}
	}
	seen.Brakes = admission.Against(f, policies, seen.Node, l, fencetest.Start)
	if is, ok := admission.Live(policies, f, seen.Node, fencetest.Start); ok {
		seen.Brakes.Counted = true
		if v := admission.Recount(f, is, c, l, fencetest.Start); v != nil && !seen.Brakes.Stopped && !seen.Brakes.Paused && !seen.Brakes.Stricter {
			seen.Brakes.Storm, seen.Brakes.Why, seen.Brakes.Message = true, v.Reason, v.Message
		}
	}
	return seen
}

type tighter struct {
	change func(ps *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger)
	// back is where a fence goes that has not begun, and why.
	back api.Phase
	why  api.Reason
}

func spec(change func(*api.FencePolicySpec)) func(*[]api.FencePolicy, *admission.Picture, *api.FenceLedger) {
	return func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
		(*ps)[0].Generation++
		change(&(*ps)[0].Spec)
	}
}

// tightened are what may become stricter between the yes and the Off.
func tightened() map[string]tighter {
	still := func(nodes ...string) func(*[]api.FencePolicy, *admission.Picture, *api.FenceLedger) {
		return func(_ *[]api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			for _, n := range nodes {
				l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: n})
			}
		}
	}
	etcd := func(c *admission.Picture) {
		c.Etcd = map[string]bool{"n0": true, "n1": true, "n2": true}
		for i := range 3 {
			c.Nodes[i].ControlPlane = true
		}
	}
	return map[string]tighter{
		"the policy is in DryRun": {spec(func(p *api.FencePolicySpec) { p.Mode, p.Limits.MaxUnhealthy = api.ModeDryRun, fencetest.Number(0) }), api.Recovering, api.DryRun},
		"a person must approve":   {spec(func(p *api.FencePolicySpec) { p.Mode = api.ModeRequireApproval }), api.Pending, api.WaitingForApproval},
		"the node is excluded by the policy": {spec(func(p *api.FencePolicySpec) {
			p.Exclude, p.Action = &api.ExcludedNodes{NodeNames: []string{"n0"}}, api.ActionWaitForOff
		}), api.Recovering, api.Excluded},
		"the node is excluded by a label": {func(_ *[]api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) { c.Nodes[0].Excluded = "a label" }, api.Recovering, api.Excluded},
		"the action is WaitForOff":        {spec(func(p *api.FencePolicySpec) { p.Action = api.ActionWaitForOff }), api.Recovering, api.PolicyChanged},
		"power waits for longer": {spec(func(p *api.FencePolicySpec) {
			p.Isolation = &api.Isolation{PowerDelay: api.DurationOf(time.Minute)}
		}), api.Pending, api.PolicyChanged},
		"the action is Isolate":    {spec(func(p *api.FencePolicySpec) { p.Action = api.ActionIsolate }), api.Pending, api.PolicyChanged},
		"no node may be unhealthy": {spec(func(p *api.FencePolicySpec) { p.Limits.MaxUnhealthy = fencetest.Number(0) }), api.Pending, api.TooManyUnhealthy},
		"nobody keeps an adopted policy up to date": {func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			(*ps)[0].Labels = map[string]string{policy.AdoptedLabel: "x"}
		}, api.Pending, api.Paused},
		"the policy is paused":  {spec(func(p *api.FencePolicySpec) { p.PauseRequests = []string{"me"} }), api.Pending, api.Paused},
		"a window is open":      {spec(func(p *api.FencePolicySpec) { p.PauseWindows = fencetest.OpenNow[0].Windows }), api.Pending, api.PauseWindow},
		"everything is stopped": {func(_ *[]api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true }, api.Pending, api.Stopped},
		"the policy is deleted": {func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) { *ps = nil }, api.Recovering, api.PolicyDeleted},
		"the policy selects other nodes": {spec(func(p *api.FencePolicySpec) {
			p.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "x"}}
		}), api.Recovering, api.PolicyDeleted},
		"another policy decides": {func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			other := fencetest.LivePolicy()
			other.Name, other.Spec.Precedence = "q", new(int32(1))
			*ps = append(*ps, other)
		}, api.Pending, api.PolicyChanged},
		"another policy has the same precedence": {func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			other := fencetest.LivePolicy()
			other.Name = "q"
			*ps = append(*ps, other)
		}, api.Pending, api.PolicyConflict},
		"another policy's limits hold too": {func(ps *[]api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			other := fencetest.LivePolicy()
			other.Name, other.Spec.Precedence, other.Spec.Limits.MaxUnhealthy = "q", new(int32(200)), fencetest.Number(0)
			*ps = append(*ps, other)
		}, api.Pending, api.TooManyUnhealthy},
		"its condition must hold for longer": {spec(func(p *api.FencePolicySpec) { p.UnhealthyConditions[0].Duration = api.DurationOf(time.Hour) }), api.Pending, api.PolicyChanged},
		"its condition counts no more":       {spec(func(p *api.FencePolicySpec) { p.UnhealthyConditions[0].Type = "DiskPressure" }), api.Pending, api.PolicyChanged},
		"activity checks are asked for":      {spec(func(p *api.FencePolicySpec) { p.ActivityChecks = &api.ActivityChecks{} }), api.Pending, api.PolicyChanged},
		"a budget has no room": {func(_ *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Fencing))
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
		}, api.Pending, api.BudgetExhausted},
		"four more Leases stand still": {still("n1", "n2", "n3", "n4"), api.Pending, api.TooManyUnhealthy},
		"most Leases stand still": {func(ps *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			(*ps)[0].Spec.Limits.MaxUnhealthy = fencetest.Percent("100%")
			for i := range 8 {
				l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: c.Nodes[i].Name, Stale: true})
			}
		}, api.Pending, api.MostLeasesStale},
		"nobody watches the Leases": {func(_ *[]api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases = api.LeasePicture{}
		}, api.Pending, api.LeasePictureOld},
		"the Lease of a second member of etcd stands still": {func(ps *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			etcd(c)
			still("n1")(ps, c, l)
		}, api.Pending, api.EtcdQuorum},
		"control-plane nodes are never fenced": {func(ps *[]api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			etcd(c)
			spec(func(p *api.FencePolicySpec) { p.ControlPlane.Fence = new(api.Never) })(ps, c, l)
		}, api.Pending, api.ControlPlaneNode},
	}
}

func cluster(f *api.NodeFence) (admission.Picture, *api.FenceLedger) {
	_, c, l := fencetest.World(fencetest.Start)
	c.Fences = []api.NodeFence{*f}
	return c, l
}

// TestNothingIsCutUnderStricterPolicies: between the yes and the Off, and before each
// further Off, a fence is held against what stands (S13, S15, S17). One whose further Off
// is held goes back to the gate: its machine reads on, and its slot is others' (S14).
func TestNothingIsCutUnderStricterPolicies(t *testing.T) {
	rows := tightened()
	maps.Copy(rows, notUnderstoodRows())
	rows["nothing has changed"] = tighter{func(*[]api.FencePolicy, *admission.Picture, *api.FenceLedger) {}, api.Fencing, api.PowerOffSent}
	rows["the limits are raised"] = tighter{spec(func(p *api.FencePolicySpec) { p.Limits.MaxUnhealthy = fencetest.Number(9) }), api.Fencing, api.PowerOffSent}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			for _, begun := range []bool{false, true} {
				policies := []api.FencePolicy{fencetest.LivePolicy()}
				f := underPolicy(policies, begun)
				census, led := cluster(f)
				c.change(&policies, &census, led)
				f = f.DeepCopy()
				st, act := fence.Decide(f, lookBeforeOff(f, policies, census, led), fencetest.Start)
				goes := c.why == api.PowerOffSent || begun && c.why == api.PauseWindow // which stops no further Off (S25)
				if (act == fence.Off) != goes {
					t.Errorf("begun: %v: action %q, %s %s: %s", begun, act, st.Phase, st.Reason, st.Message)
				}
				if want := map[bool]api.Phase{true: api.Fencing, false: api.Pending}[goes]; begun && (st.Phase != want || st.Power.SwitchedByUs != goes) {
					t.Errorf("what was begun went to %s, cut by us %v: %s (S14, S25)", st.Phase, st.Power.SwitchedByUs, st.Message)
				}
				if got := []any{st.Phase, st.Reason}; !begun && !cmp.Equal(got, []any{c.back, c.why}) {
					t.Errorf("it went to %v, want %s %s: %s", got, c.back, c.why, st.Message)
				}
			}
		})
	}
}

// TestSentBackWithoutATaint: the taint goes first, and then the gate decides anew.
func TestSentBackWithoutATaint(t *testing.T) {
	policies := []api.FencePolicy{fencetest.LivePolicy()}
	f := underPolicy(policies, false)
	c, l := cluster(f)
	tightened()["the node is excluded by the policy"].change(&policies, &c, l)
	var acts []fence.Action
	for range 4 {
		seen := lookBeforeOff(f, policies, c, l)
		seen.Node.Taint = len(acts) == 0 || acts[len(acts)-1] != fence.Undo
		var act fence.Action
		f.Status, act = fence.Decide(f, seen, fencetest.Start)
		acts = append(acts, act)
		if f.Status.Phase == api.Pending {
			break
		}
	}
	if d := cmp.Diff([]fence.Action{fence.None, fence.Undo, fence.None}, acts); d != "" || f.Status.Phase != api.Pending || f.Status.Reason != api.Excluded || f.Status.Outcome != "" || f.Status.Placed.Taint {
		t.Errorf("%s: %+v", d, f.Status)
	}
	seen := lookBeforeOff(f, policies, c, l)
	if _, act := fence.Decide(f, seen, fencetest.Start); act != fence.Resolve {
		t.Errorf("the gate was asked to %q", act)
	}
	admission.Renew(f, policies, seen.Node, fencetest.Start)
	st, act := fence.Decide(f, lookBeforeOff(f, policies, c, l), fencetest.Start)
	if act != fence.None || st.Reason != api.Excluded || !strings.Contains(st.Message, "excludes") {
		t.Errorf("%q %s %s", act, st.Reason, st.Message)
	}
}

// TestAPendingFenceHasTheLivePolicies: nothing of a policy is frozen before a slot is
// reserved, in either direction (S17).
func TestAPendingFenceHasTheLivePolicies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*[]api.FencePolicy, *admission.Picture, *api.FenceLedger)
		want   fence.Action
		why    api.Reason
	}{
		"nothing has changed":                  {func(*[]api.FencePolicy, *admission.Picture, *api.FenceLedger) {}, fence.Reserve, ""},
		"DryRun":                               {tightened()["the policy is in DryRun"].change, fence.DryReserve, api.TooManyUnhealthy},
		"excluded":                             {tightened()["the node is excluded by the policy"].change, fence.None, api.Excluded},
		"the limits are lowered":               {tightened()["no node may be unhealthy"].change, fence.Reserve, api.TooManyUnhealthy},
		"another decides":                      {tightened()["another policy decides"].change, fence.Reserve, ""},
		"another limits":                       {tightened()["another policy's limits hold too"].change, fence.Reserve, api.TooManyUnhealthy},
		"its condition must hold for longer":   {tightened()["its condition must hold for longer"].change, fence.None, api.WaitingForTime},
		"it is deleted, and the fence is over": {tightened()["the policy is deleted"].change, fence.DropFinalizer, api.PolicyDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			policies := []api.FencePolicy{fencetest.LivePolicy()}
			f := underPolicy(policies, false)
			at := observed.StampOf(fencetest.Start)
			f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at}
			census, led := cluster(f)
			c.change(&policies, &census, led)
			var act fence.Action
			for range 3 {
				seen := lookBeforeOff(f, policies, census, led)
				seen.Reserved = nil
				if f.Status, act = fence.Decide(f, seen, fencetest.Start); act == fence.Resolve {
					admission.Renew(f, policies, seen.Node, fencetest.Start)
				}
			}
			if act != c.want || act == fence.None && f.Status.Reason != c.why {
				t.Errorf("%q %s %s, want %q %s", act, f.Status.Reason, f.Status.Message, c.want, c.why)
			}
			var v *observed.Verdict
			switch act {
			case fence.Reserve:
				v = admission.Admit(f, census, led, fencetest.Start)
			case fence.DryReserve:
				v = admission.AdmitDryRun(admission.ForSlot, f, nil, census, led, fencetest.Start)
			default:
				return
			}
			if (v == nil) != (c.why == "") || v != nil && v.Reason != c.why {
				t.Errorf("the ledger said %+v, want %q", v, c.why)
			}
		})
	}
}

// TestWhatWasReadOfAnotherDevice counts for none that is bound since (S9).
func TestWhatWasReadOfAnotherDevice(t *testing.T) {
	policies := []api.FencePolicy{fencetest.LivePolicy()}
	f := underPolicy(policies, false)
	f.Status.Phase = api.Pending
	f.Status.Decision.Power(0).Address = "mended"
	c, l := cluster(f)
	st, _ := fence.Decide(f, lookBeforeOff(f, policies, c, l), fencetest.Start)
	if st.Phase != api.Isolating || st.Power.LastRead != nil {
		t.Errorf("%s, read %+v", st.Phase, st.Power.LastRead)
	}
}

// TestAPersonEndsACoolDown: that one and no other one, and the history says who and why (S15, S28).
func TestAPersonEndsACoolDown(t *testing.T) {
	at := func(after time.Duration) *api.Time { x := observed.StampOf(fencetest.Start.Add(after)); return &x }
	word := func(until *api.Time, also ...api.Time) *api.CoolDownEnded {
		return &api.CoolDownEnded{By: "anna", Reason: "the switch is replaced", Until: *until, AlsoUntil: also}
	}
	for name, c := range map[string]struct {
		word *api.CoolDownEnded
		ill  int
		want api.Reason
	}{
		"nobody has":            {nil, 1, api.StormCoolDown},
		"this one":              {word(at(time.Minute)), 1, ""},
		"with a later one":      {word(at(time.Hour), *at(time.Second), *at(time.Minute)), 1, ""},
		"a later one":           {word(at(time.Hour)), 1, api.StormCoolDown},
		"an earlier one":        {word(at(time.Second)), 1, api.StormCoolDown},
		"the storm is not over": {word(at(time.Hour)), 9, api.TooManyUnhealthy},
		"nobody by name":        {&api.CoolDownEnded{Until: *at(time.Minute)}, 1, api.StormCoolDown},
	} {
		t.Run(name, func(t *testing.T) {
			policies := []api.FencePolicy{fencetest.LivePolicy()}
			f := underPolicy(policies, false)
			f.Status.Phase, f.Status.Reason, f.Status.WaitsFor = api.Pending, api.StormCoolDown, api.WaitsForCoolDown
			census, led := cluster(f)
			led.Status.Storms = []api.Storm{{Policy: "p", CoolDownUntil: at(time.Minute)}}
			led.Spec.CoolDownEnded = c.word
			for i := range c.ill {
				census.Nodes[i].Unhealthy = true
			}
			v := admission.Admit(f, census, led, fencetest.Start)
			if v == nil && c.want != "" || v != nil && v.Reason != c.want {
				t.Fatalf("%+v, want %q", v, c.want)
			}
			if v == nil {
				st, _ := fence.Decide(f, lookBeforeOff(f, policies, census, led), fencetest.Start)
				if last := st.History[len(st.History)-1]; st.Phase != api.Isolating || last.Message != "within all limits; anna has ended the cool-down: the switch is replaced" {
					t.Errorf("%s: %s", st.Phase, last.Message)
				}
			}
		})
	}
}

// TestAWordOfAnEarlierCoolDown: it stands in the ledger for long. The fence that has waited for a later cool-down
// goes on by itself, and nobody is named for it (S28).
func TestAWordOfAnEarlierCoolDown(t *testing.T) {
	policies := []api.FencePolicy{fencetest.LivePolicy()}
	f := underPolicy(policies, false)
	f.Status.Phase, f.Status.Reason, f.Status.WaitsFor = api.Pending, api.StormCoolDown, api.WaitsForCoolDown
	census, led := cluster(f)
	led.Spec.CoolDownEnded = &api.CoolDownEnded{By: "anna", Reason: "the switch is replaced", Until: observed.StampOf(fencetest.Start)}
	if v := admission.Admit(f, census, led, fencetest.Start); v != nil {
		t.Fatalf("%+v", v)
	}
	st, _ := fence.Decide(f, lookBeforeOff(f, policies, census, led), fencetest.Start)
	if last := st.History[len(st.History)-1]; st.Phase != api.Isolating || last.Message != "within all limits" {
		t.Errorf("%s: %s", st.Phase, last.Message)
	}
}

// TestEachLookMindsACutPicture: a fence whose node is being isolated goes back to the gate
// in the storm that a cut picture is, though fewer names than half of all Leases stand in
// it, and the gate has noted none (S15, S16). What was begun sends no further Off (S25).
func TestEachLookMindsACutPicture(t *testing.T) {
	policies := []api.FencePolicy{fencetest.LivePolicy()}
	for still, storm := range map[int32]bool{0: false, api.MaxStill: false, api.MaxStill + 1: true, 5000: true} {
		for _, begun := range []bool{false, true} {
			f := underPolicy(policies, begun)
			if !begun {
				f.Status.Phase, f.Status.Power.LastRead, f.Status.Placed = api.Isolating, nil, api.Placed{}
			}
			c, led := cluster(f)
			p := &led.Status.Leases
			p.Total, p.StillCount, p.Renewal = 5000, still, metav1.Duration{Duration: fencetest.Renewal}
			for i := range min(still, api.MaxStill) {
				p.Still = append(p.Still, api.StillLease{NodeName: fmt.Sprintf("x%d", i), Stale: true})
			}
			seen := lookBeforeOff(f, policies, c, led)
			seen.Brakes = admission.Against(f, policies, seen.Node, led, fencetest.Start) // as it is where nothing is cut yet
			seen.Brakes.Counted = begun
			st, act := fence.Decide(f, seen, fencetest.Start)
			if !begun && (st.Phase == api.Pending && st.Reason == api.TooManyUnhealthy) != storm || begun && (act == fence.Off) == storm {
				t.Errorf("%d still, begun %v: %q %s %s: %s", still, begun, act, st.Phase, st.Reason, st.Message)
			}
		}
	}
}

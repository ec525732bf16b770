package gate

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// TestAFenceThatIsRefusedAgainIsNotResolved: its devices are resolved once a slot is free, which that
// look does not take (S11, S17). Whoever may be held by anything else has them resolved at each look. A
// storm that is noticed meanwhile stands in the ledger (S15).
func TestAFenceThatIsRefusedAgainIsNotResolved(t *testing.T) {
	type got struct {
		Resolved bool
		Verdict  string
		Reserved []string
		Storms   int
		Writes   int
	}
	refused := got{false, string(api.TooManyConcurrent), []string{"and others"}, 0, 1}
	resolved := got{true, "reserved", []string{"and others"}, 0, 0}
	for name, c := range map[string]struct {
		given func(*burst, *api.NodeFence, *observed.Look)
		want  got
	}{
		"all slots are taken": {func(*burst, *api.NodeFence, *observed.Look) {}, refused},
		"it waits for a budget": {func(_ *burst, f *api.NodeFence, _ *observed.Look) {
			f.Status.Reason, f.Status.WaitsFor = api.BudgetExhausted, api.WaitsForBudget
		}, refused},
		"a slot is free": {func(b *burst, _ *api.NodeFence, _ *observed.Look) { b.ledger.Status.Reservations = nil }, got{true, "reserved", nil, 0, 0}},
		"it was not refused before": {func(_ *burst, f *api.NodeFence, _ *observed.Look) {
			f.Status.Reason, f.Status.WaitsFor = api.Opened, ""
		}, resolved},
		"the policies have changed": {func(_ *burst, _ *api.NodeFence, s *observed.Look) { s.Brakes.Changed = true }, resolved},
		"no device is bound":        {func(_ *burst, f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Devices = nil }, resolved},
		"its devices were refused":  {func(_ *burst, f *api.NodeFence, _ *observed.Look) { f.Status.Decision.DevicesError = "two nodes" }, resolved},
		"it drains first": {func(_ *burst, f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Drain.Timeout.Duration = time.Minute
		}, refused},
		"it has cut power before":    {func(_ *burst, f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = true }, resolved},
		"a storm is there meanwhile": {stormy, got{false, string(api.TooManyUnhealthy), []string{"and others"}, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t, 3, 1)
				b.answers["/api/v1/nodes/"+nameOf(0)] = textOf(t, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nameOf(0)}})
				b.take(2)
				f := &b.fences[0]
				f.Status.Reason, f.Status.WaitsFor, f.Status.Decision.Devices = api.TooManyConcurrent, api.WaitsForSlot, api.Named(api.Binding{Driver: "mem"})
				f.Status.Decision.Settings.Action = api.ActionReboot
				var seen observed.Look
				c.given(b, f, &seen)
				bound := false
				b.gate.Bind = func(context.Context, *corev1.Node) (*config.Bound, error) {
					bound = true
					return &config.Bound{Devices: f.Status.Decision.Devices, Over: func(*api.ResolvedPolicy) {}}, nil
				}
				r, err := b.gate.Act(t.Context(), f.DeepCopy(), fence.Resolve, seen)
				is := got{bound, verdictOf(r.Verdict, nil), b.reserved(), len(b.ledger.Status.Storms), b.writes}
				if d := cmp.Diff(c.want, is); d != "" || err != nil || r.Resolved != bound {
					t.Errorf("%v: %s", err, d)
				}
			})
		})
	}
}

// stormy has more nodes unhealthy than the policy allows.
func stormy(_ *burst, f *api.NodeFence, _ *observed.Look) {
	for i := range f.Status.Decision.Limits {
		f.Status.Decision.Limits[i].MaxUnhealthy.StrVal = "10%"
	}
}

// TestWhoIsRefusedIsResolvedWhereItMustBe: a no to the slot is no answer where the next decision asks
// for the devices all the same. They are resolved then, and the fence says what it really waits for.
func TestWhoIsRefusedIsResolvedWhereItMustBe(t *testing.T) {
	power, network := api.Binding{Driver: "mem"}, api.Binding{Driver: "fabric", Role: api.RoleNetwork}
	type got struct {
		Phase  api.Phase
		Reason api.Reason
		Acts   []fence.Action
	}
	resolve := fence.Resolve
	for name, c := range map[string]struct {
		had, has api.Binding
		action   api.FenceAction
		free     bool
		want     got
	}{
		"the power":              {power, power, api.ActionReboot, false, got{api.Pending, api.TooManyConcurrent, []fence.Action{resolve}}},
		"isolation devices only": {network, network, api.ActionReboot, false, got{api.Failed, api.BindingInvalid, []fence.Action{resolve, resolve}}},
		"isolation devices only, and a slot is free":                {network, network, api.ActionReboot, true, got{api.Failed, api.BindingInvalid, []fence.Action{resolve}}},
		"isolation devices only, and the power's is configured now": {network, power, api.ActionReboot, false, got{api.Pending, api.TooManyConcurrent, []fence.Action{resolve, resolve, fence.Reserve}}},
		"isolation devices only, and confirmOff is withdrawn":       {network, network, api.ActionWaitForOff, false, got{api.Pending, api.WaitingForConfirmation, []fence.Action{resolve, resolve}}},
		"the power, and confirmOff is withdrawn":                    {power, power, api.ActionWaitForOff, false, got{api.Pending, api.TooManyConcurrent, []fence.Action{resolve}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t, 3, 1)
				b.answers["/api/v1/nodes/"+nameOf(0)] = textOf(t, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nameOf(0)}})
				if !c.free {
					b.take(2)
				}
				f := waitingWith(t, b, c.had, c.action)
				w := &silentGate{b: b}
				b.gate.Bind = func(context.Context, *corev1.Node) (*config.Bound, error) {
					return &config.Bound{Devices: api.Named(c.has), Over: func(*api.ResolvedPolicy) {}}, nil
				}
				start := time.Now()
				l := &loop.Loop{Function: Name, Owns: Phases, Store: b.gate.Client, Does: w, Reporter: w, Now: time.Now, Conflict: kube.ErrConflict,
					Elapsed: func() time.Duration { return time.Since(start) }, Me: func() string { return "me" }}
				if _, err := l.GoOn(t.Context(), f.DeepCopy(), event.New(), 0); err != nil {
					t.Error(err)
				}
				if d := cmp.Diff(c.want, got{b.saved.Status.Phase, b.saved.Status.Reason, w.acts}); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// waitingWith is the first fence of a burst, which was refused a slot, with one device and an action of
// its policy.
func waitingWith(t *testing.T, b *burst, device api.Binding, action api.FenceAction) *api.NodeFence {
	var list api.FencePolicyList
	if err := json.Unmarshal([]byte(b.answers[policyPath]), &list); err != nil {
		t.Fatal(err)
	}
	p := &list.Items[0].Spec
	p.Action, p.UnhealthyConditions = action, []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}
	b.answers[policyPath] = textOf(t, list)
	f := b.fences[0].DeepCopy()
	f.Status = fencetest.Spec().In(f.Status)
	f.ResourceVersion, f.Status.Reason, f.Status.WaitsFor = "7", api.TooManyConcurrent, api.WaitsForSlot
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(list.Items, f.Spec.NodeName, nil)
	f.Status.Decision.Devices = api.Named(device)
	return f
}

// silentGate is the gate of a burst, for the one fence whose node is silent.
type silentGate struct {
	report.Reporter
	b    *burst
	acts []fence.Action
}

func (*silentGate) Decided(context.Context, report.Decision) {}

func (w *silentGate) Look(_ context.Context, f *api.NodeFence, seen *observed.Look, _ time.Duration) error {
	s := fencetest.LookOf(&f.Status, "m", time.Now(), "Unknown", false, "boot")
	seen.Node, seen.Lease, seen.Brakes, seen.Finalizer = s.Node, s.Lease, s.Brakes, true
	seen.Node.Conditions[0].Since = time.Now().Add(-10 * time.Minute)
	return nil
}

func (w *silentGate) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (loop.Result, error) {
	w.acts = append(w.acts, a)
	return w.b.gate.Act(ctx, f, a, seen)
}

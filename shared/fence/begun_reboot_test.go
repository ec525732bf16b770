package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARebootThatAnotherProgramHadBegun: its machine is found off, and is on in the end (S12, S25). Whatever else is
// found off stays off, and so does a machine that was on since.
func TestARebootThatAnotherProgramHadBegun(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	type end struct {
		Phase api.Phase
		Owed  bool // the power-on is owed, also by whoever goes on after a crash
		Told  bool
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   end
	}{
		"it had begun":                {func(*api.NodeFence, *observed.Look) {}, end{api.PoweringOn, true, true}},
		"the Node is deleted":         {func(_ *api.NodeFence, s *observed.Look) { s.Node = observed.Node{} }, end{api.PoweringOn, true, true}},
		"it had not begun":            {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Devices[0].Adopted.RebootBegun = false }, end{api.Fenced, false, false}},
		"another configuration":       {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Devices[0].Adopted = nil }, end{api.Fenced, false, false}},
		"the machine was on since":    {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.RebootOver = true }, end{api.Fenced, false, false}},
		"the policy leaves it off":    {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Action = api.ActionOff }, end{api.Fenced, false, false}},
		"it was cut by nodefence too": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = true }, end{api.PoweringOn, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
				at := observed.StampOf(now)
				f.Status.Decision.Devices = specs.Begun().Decision.Devices
				f.Status.Phase, f.Status.Release = api.Releasing, begunAt(now, true)
				f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, FenceUID: f.UID, FenceNumber: 1, NodeUID: f.Status.Decision.NodeUID, BootIDBefore: "a", At: at}
			})
			c.change(f, &s)
			st, _ := fence.Decide(f, s, now)
			told := false
			for _, h := range st.History {
				told = told || h.Message == "the program that n belongs to had begun to reboot the machine, and is gone: the machine is switched on in its place"
			}
			if d := cmp.Diff(c.want, end{st.Phase, st.Power.SwitchedByUs, told}); d != "" {
				t.Errorf("%s: %s\n%s", st.Reason, st.Message, d)
			}
		})
	}
}

// TestARebootIsOverOnceTheMachineIsOn: what is found off later was switched off by somebody else (S12).
func TestARebootIsOverOnceTheMachineIsOn(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Decision.Devices = specs.Begun().Decision.Devices
		f.Status.Phase, f.Status.Power.SwitchedByUs = api.PoweringOn, true
		since := observed.StampOf(now.Add(-time.Minute))
		f.Status.PhaseSince = &since
		s.Node.Conditions[0].Status, s.Lease.Renewed, s.Node.BootID = "True", "r1", "b"
	})
	if st, _ := fence.Decide(f, s, now); st.Phase != api.Recovering || !st.Power.RebootOver || st.Power.SwitchedByUs {
		t.Errorf("%s, over %v, owed %v: %s", st.Phase, st.Power.RebootOver, st.Power.SwitchedByUs, st.Message)
	}
}

func TestBegunWalk(t *testing.T) {
	t.Parallel()
	o := walk.Options{From: walk.Begin(specs.Begun()), Live: true, Few: 7, Most: 6000}
	if wantsWhole() {
		o.Few, o.Most = 0, 0
	}
	r := walk.Run(fence.Decide, o)
	walked(t, "walk of reboots that another program had begun", &r, map[string]string{
		"a machine found off":          "Releasing --> PoweringOn: Released",
		"a machine that is on again":   "PoweringOn --> Recovering: SeenOn",
		"a flow that begins once more": "Recovering --> Pending: FlowRestarted",
	})
}

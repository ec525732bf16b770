package fence_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatADumpProves: each thing that the proof rests on, alone, decides.
func TestWhatADumpProves(t *testing.T) { // S1, S3, S4, S5, S6, S15
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look, time.Time)
		act    fence.Action
		phase  api.Phase
		words  string
	}{
		"a dump under way": {func(*api.NodeFence, *observed.Look, time.Time) {}, fence.DeletePods, api.Releasing, "force-deleting 2 of 2 pods"},
		"in another phase it does nothing": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Status.Phase, f.Status.Proof = api.Fencing, nil
		}, fence.Read, api.Fencing, ""},
		"the policy does not opt in": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Status.Decision.Settings.Kdump.ReleasePodsWhileDumping = false
		}, fence.None, api.Pending, "the machine dumps its memory"},
		"its messages say another node": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump.NodeUID = "uid-2" }, fence.None, api.Pending, "the dump has ended"},
		"its messages say another boot": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump.BootID = "b" }, fence.None, api.Pending, ""},
		"nobody knows which boot": {func(f *api.NodeFence, s *observed.Look, _ time.Time) {
			f.Status.Kdump.BootID, s.Dump.BootID, s.Node.BootID = "", "", ""
		}, fence.None, api.Pending, ""},
		"the machine has rebooted":      {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.BootID = "b" }, fence.None, api.Pending, ""},
		"it dumps again after a reboot": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.BootID, s.Dump.BootID = "b", "b" }, fence.None, api.Pending, ""},
		"one message came":              {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump.Count = 1 }, fence.None, api.Pending, ""},
		"all messages came at once":     {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump.First = s.Dump.Last.Add(-time.Second) }, fence.None, api.Pending, ""},
		"the last one is a little old":  {func(_ *api.NodeFence, s *observed.Look, now time.Time) { s.Dump.Last = now.Add(-6 * time.Second) }, fence.None, api.Releasing, "the next kdump message is waited for"},
		"the last one is old":           {func(_ *api.NodeFence, s *observed.Look, now time.Time) { s.Dump.Last = now.Add(-9 * time.Second) }, fence.None, api.Pending, "the dump has ended"},
		"the last one is of the future": {func(_ *api.NodeFence, s *observed.Look, now time.Time) { s.Dump.Last = now.Add(time.Minute) }, fence.None, api.Pending, ""},
		"nothing can be seen":           {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Dump = nil }, fence.None, api.Pending, "can't see whether messages come"},
		"the Lease has just moved":      {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Lease.Renewed = "r1" }, fence.None, api.Pending, "not believed"},
		"the Lease moved a while ago": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			at := observed.StampOf(now.Add(-10 * time.Second))
			f.Status.Lease.StillSince = &at
		}, fence.None, api.Pending, "not believed"},
		"the Lease moved after the last message": {func(f *api.NodeFence, s *observed.Look, now time.Time) {
			still, since := observed.StampOf(now.Add(-3*time.Second)), observed.StampOf(now.Add(-2*time.Second))
			s.Lease.Renewal, s.Dump.Last, f.Status.Lease.StillSince, f.Status.Kdump.Since = time.Second, now.Add(-4*time.Second), &still, since
		}, fence.None, api.Pending, ""},
		"the Lease has missed one renewal": {func(f *api.NodeFence, s *observed.Look, now time.Time) {
			s.Lease.Renewal = 4 * time.Minute
		}, fence.None, api.Pending, ""},
		"nobody saw the Lease":     {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Lease.Exists = false }, fence.None, api.Pending, ""},
		"the node counts as Ready": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Conditions[0].Status = "True" }, fence.None, api.Recovering, ""},
		"it was asked for, and the node counts as Ready": {func(f *api.NodeFence, s *observed.Look, _ time.Time) {
			f.Status.Decision.Trigger, f.Status.Decision.AskedBy = specs.Request().Decision.Trigger, specs.Request().Decision.AskedBy
			s.Node.Conditions[0].Status = "True"
		}, fence.None, api.Pending, ""},
		"it is another node":    {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.UID = "uid-2" }, fence.None, api.Recovering, ""},
		"the node is gone":      {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node = observed.Node{} }, fence.None, api.Recovering, ""},
		"there is a storm":      {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Storm = true }, fence.None, api.Pending, ""},
		"it is paused":          {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Paused = true }, fence.None, api.Pending, ""},
		"nobody saw the brakes": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes = observed.Brakes{} }, fence.None, api.Releasing, ""},
		"a person ends it": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Spec.Requests.Abort = &api.AbortRequest{By: "me"}
		}, fence.None, api.Recovering, ""},
		"a person confirms": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "me"}}
		}, fence.None, api.Pending, "me says that the machine is off"},
		"it was decided long ago": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			at := observed.StampOf(now.Add(-2 * time.Minute))
			f.Status.DecidedAt = &at
		}, fence.None, api.Pending, ""},
		"its longest time is over": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			f.Status.Kdump.Since = observed.StampOf(now.Add(-101 * time.Second))
		}, fence.None, api.Pending, "going on"},
		"its pods were released": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			at := observed.StampOf(now)
			f.Status.Kdump.DoneAt = &at
		}, fence.None, api.Pending, ""},
		"nothing is left but disks": {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Left.Delete = nil }, fence.None, api.Pending, "2 attachments wait until the machine is seen off"},
		"nobody saw what is left":   {func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Left = nil }, fence.None, api.Releasing, ""},
		"the last batch was just now": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			at := observed.StampOf(now)
			f.Status.Release.AskedAt = &at
		}, fence.None, api.Releasing, ""},
		"storage is cut off too": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			fencetest.Cutting(&f.Status.Decision, api.Binding{Driver: "san", Role: api.RoleStorage})
		}, fence.None, api.Pending, ""},
		"pods are left to the taint": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Status.Decision.Settings.Release.Strategy = api.ReleaseOutOfServiceTaint
		}, fence.None, api.Pending, ""},
		"nothing is to be released": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Status.Decision.Settings.Release.Strategy = api.ReleaseNone
		}, fence.None, api.Pending, ""},
		"only the Lease speaks": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: time.Second}}
			f.Status.Decision.Settings.UnhealthyConditions[0].Duration.Duration = time.Hour
		}, fence.None, api.Pending, ""},
		"one a minute": {func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			one := int32(1)
			f.Status.Decision.Settings.Release.PodsPerMinute = &one
		}, fence.DeletePods, api.Releasing, "force-deleting 1 of 2 pods"},
		"one a minute, and one is gone": {func(f *api.NodeFence, _ *observed.Look, now time.Time) {
			one, at := int32(1), observed.StampOf(now.Add(-10*time.Second))
			f.Status.Decision.Settings.Release.PodsPerMinute = &one
			f.Status.Release.BatchAt, f.Status.Release.AskedAt, f.Status.Release.InMinute = &at, &at, 1
		}, fence.None, api.Releasing, "podsPerMinute is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f, seen, now := specs.Dumping()
			c.change(f, &seen, now)
			st, act := fence.Decide(f, seen, now)
			if act != c.act || st.Phase != c.phase || !strings.Contains(st.Message, c.words) {
				t.Errorf("%s %s, action %q: %s", st.Phase, st.Reason, act, st.Message)
			}
			if st.Phase != api.Releasing && st.Proof != nil {
				t.Errorf("the proof outlives it: %+v", st.Proof)
			}
			if st.Placed.OutOfService || st.Release.StartedAt != nil || st.Power.SwitchedByUs {
				t.Errorf("more than pods: %+v %+v", st.Placed, st.Release)
			}
			if until := st.Release.NotAfter; act == fence.DeletePods && (until == nil || until.After(seen.Dump.Last.Add(facts.DumpValidity))) {
				t.Errorf("it may be begun until %v", until)
			}
		})
	}
}

// TestTheWayToADumpsRelease: from waiting, through the gate, and only with the taint
// on the node.
func TestTheWayToADumpsRelease(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		act    fence.Action
		phase  api.Phase
		why    api.Reason
	}{
		"it asks for a slot": {func(f *api.NodeFence, s *observed.Look) { s.Reserved = nil }, fence.Reserve, api.Pending, api.KdumpUnderWay},
		"it has a slot":      {func(*api.NodeFence, *observed.Look) {}, fence.None, api.Isolating, api.Admitted},
		"the gate says no": {func(_ *api.NodeFence, s *observed.Look) {
			s.Reserved, s.Verdict = nil, &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10", Again: time.Second}
		}, fence.None, api.Pending, api.TooManyUnhealthy},
		"the policy does not opt in": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Kdump.ReleasePodsWhileDumping = false
		}, fence.None, api.Pending, api.KdumpUnderWay},
		"a dry run": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Settings.Mode, s.Node.Taint = api.ModeDryRun, false
		}, fence.DryReserve, api.Pending, ""},
		"the taint is not on the node":      {func(f *api.NodeFence, s *observed.Look) { f.Status.Phase, s.Node.Taint = api.Isolating, false }, fence.Isolate, api.Isolating, ""},
		"the taint is on the node":          {func(f *api.NodeFence, _ *observed.Look) { f.Status.Phase = api.Isolating }, fence.None, api.Releasing, api.KdumpSeen},
		"the dump was only heard of before": {func(f *api.NodeFence, s *observed.Look) { f.Status.Phase, s.Dump = api.Isolating, nil }, fence.None, api.Fencing, api.Isolated},
		"its power was cut before": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase, f.Status.Power.SwitchedByUs = api.Isolating, true
		}, fence.None, api.Fencing, api.Isolated},
		"work was released before": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase, f.Status.Release.StartedAt = api.Isolating, f.Status.OpenedAt
		}, fence.None, api.Fencing, api.Isolated},
		"its pods were released: it waits on": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Kdump.DoneAt = &f.Status.Kdump.Since }, fence.None, api.Pending, api.KdumpUnderWay},
	} {
		t.Run(name, func(t *testing.T) {
			f, seen, now := specs.Dumping()
			f.Status.Phase, f.Status.Proof, f.Status.Reason, f.Status.WaitsFor = api.Pending, nil, api.KdumpUnderWay, api.WaitsForDump
			c.change(f, &seen)
			st, act := fence.Decide(f, seen, now)
			if act != c.act || st.Phase != c.phase || c.why != "" && st.Reason != c.why {
				t.Errorf("%s %s, action %q: %s", st.Phase, st.Reason, act, st.Message)
			}
		})
	}
}

// TestNothingLaterReadsWhatADumpLeft: once power has taken over, a fence that released
// pods during a dump decides as one that did not, in states of each phase that follows.
func TestNothingLaterReadsWhatADumpLeft(t *testing.T) { // S4, S9, S12, S25
	compared, n := map[api.Phase]int{}, 0
	both := func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		switch n++; {
		case n%16 > 0, f.Status.Phase == "", f.Status.Phase == api.Pending, f.Status.Phase == api.Isolating:
			return fence.Decide(f, s, now)
		}
		at := observed.StampOf(fencetest.Start)
		with := func(proof bool, boot string, done *api.Time) (api.NodeFenceStatus, fence.Action) {
			g := *f
			g.Status = *f.Status.DeepCopy()
			r := *specs.Kdump().Decision.Settings.Kdump
			r.ReleasePodsWhileDumping = proof
			g.Status.Decision.Settings.Kdump = &r
			if g.Status.Kdump == nil {
				g.Status.Kdump = &api.KdumpRecord{Since: at, LastSeen: at}
			}
			g.Status.Kdump.BootID, g.Status.Kdump.DoneAt = boot, done
			st, act := fence.Decide(&g, s, now)
			st.Decision = f.Status.Decision
			if st.Kdump != nil {
				st.Kdump.BootID, st.Kdump.DoneAt = "", nil
			}
			return st, act
		}
		st, act := with(false, "", nil)
		for _, boot := range []string{"a", "b"} {
			if got, does := with(true, boot, &at); does != act || !reflect.DeepEqual(got, st) {
				t.Errorf("from %s: to %s (%s), action %q; without the dump to %s (%s), action %q", f.Status.Phase, got.Phase, got.Reason, does, st.Phase, st.Reason, act)
			}
		}
		compared[f.Status.Phase]++
		return fence.Decide(f, s, now)
	}
	for _, from := range []struct {
		begin []walk.State
		most  int
	}{{walk.Begin(specs.Kdump()), 200}, {walk.Begin(fencetest.Spec()), 800}, {walk.CutJustNow(), 400}} {
		walk.Run(both, walk.Options{From: from.begin, Most: from.most})
	}
	for _, p := range []api.Phase{api.Fencing, api.Releasing, api.PoweringOn, api.Recovering} {
		if compared[p] == 0 {
			t.Errorf("nothing was compared in %s", p)
		}
	}
	t.Log(compared)
}

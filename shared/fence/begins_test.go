package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Guards that need no walk: they hold in the first state, whatever is seen.
func TestNeverBegins(t *testing.T) {
	at := fencetest.Start
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		why    api.Reason
	}{
		"a control-plane node is never fenced (S13)": {func(_ *api.NodeFence, s *observed.Look) { s.Node.ControlPlane = true }, api.ControlPlaneNode},
		"nothing fences its own machine (S13)":       {func(_ *api.NodeFence, s *observed.Look) { s.Self = true }, api.OwnMachine},
		"a node that its policy excludes is left alone": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Excluded = "policy p excludes this node"
		}, api.Excluded},
		"a node that somebody excluded is left alone":      {func(_ *api.NodeFence, s *observed.Look) { s.Node.Excluded = "the label" }, api.Excluded},
		"a node that is about to be deleted is left alone": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Deleting = "Karpenter" }, api.NodeBeingDeleted},
		"a fence that needs approval waits for it": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
		}, api.WaitingForApproval},
		"without approval in time it is given up": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
			since := observed.StampOf(at.Add(-time.Hour))
			f.Status.ApprovalSince = &since
		}, api.NotApproved},
		"without a device a person must confirm": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Devices, s.Resolved = api.ActionWaitForOff, nil, true
		}, api.WaitingForConfirmation},
		"two policies of one precedence are a conflict": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Conflict = "q" }, api.PolicyConflict},
		"a dry run says what it would do": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Settings.Mode, s.DryRun = api.ModeDryRun, &observed.DryRun{At: at}
		}, api.DryRun},
		"a node fenced too often today waits (S26)": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.PerNode.CutsPerDay = 1
			f.Status.Past = []api.PastFence{{Cuts: 1, ClosedAt: observed.StampOf(at)}}
		}, api.NodeFencedTooOften},
		"without a binding it fails, in words": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = nil, "ConfigMap x, key y: wrong", true
		}, api.BindingInvalid},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
		f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = api.Pending, 1, api.Schema
		seen := fencetest.Look(f, at, "Unknown", false, "a")
		c.change(f, &seen)
		st, act := fence.Decide(f, seen, at)
		if st.Reason != c.why || act != fence.None || (st.Phase != api.Pending && st.Phase != api.Failed) {
			t.Errorf("%s: %s %s, action %q", name, st.Phase, st.Reason, act)
		}
	}
}

func TestARecordFromTheFutureIsLeftAlone(t *testing.T) { // S21
	for name, st := range map[string]api.NodeFenceStatus{
		"an unknown phase": {Phase: "Teleporting", FenceNumber: 1, MinReaderVersion: api.Schema},
		"a newer schema":   {Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema + 1},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(st)}
		got, act := fence.Decide(f, fencetest.Look(f, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
		if act != fence.None || got.NextLook != nil || got.Phase != st.Phase {
			t.Errorf("%s: %+v, action %q", name, got, act)
		}
	}
}

// What lets such a fence begin: the person's word, or the rule of quorum, under
// which the ledger's step decides.
func TestBeginsOnAPersonsWord(t *testing.T) {
	at := fencetest.Start
	for name, change := range map[string]func(*api.NodeFence, *observed.Look){
		"approved": func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Spec.Requests.Approve = api.ModeRequireApproval, &api.Request{FenceNumber: f.Status.FenceNumber, By: "me"}
		},
		"confirmed, without a device": func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Devices, f.Spec.Requests.ConfirmOff = api.ActionWaitForOff, nil, &api.Confirmation{Request: api.Request{FenceNumber: f.Status.FenceNumber, By: "me"}}
		},
		"a control-plane node under the rule of quorum": func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Settings.ControlPlane.Fence, s.Node.ControlPlane = api.WithQuorum, true
		},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
		f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = api.Pending, 1, api.Schema
		seen := fencetest.Look(f, at, "Unknown", false, "a")
		seen.Reserved = nil
		change(f, &seen)
		if st, act := fence.Decide(f, seen, at); act != fence.Reserve {
			t.Errorf("%s: %s %s, action %q", name, st.Phase, st.Reason, act)
		}
	}
}

// TestNoDeviceIsAskedWithoutOne: a person's word that is not believed leads back
// to waiting, and holds no slot meanwhile (S14).
func TestNoDeviceIsAskedWithoutOne(t *testing.T) {
	f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	f.Status.Decision.Settings.Action, f.Status.Decision.Devices = api.ActionWaitForOff, nil
	decided := observed.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, DecidedAt: &decided, Placed: api.Placed{Taint: true}}
	st, act := fence.Decide(f, fencetest.Look(f, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
	if st.Phase != api.Pending || st.Reason != api.WaitingForConfirmation || act != fence.None {
		t.Errorf("%s %s, action %q", st.Phase, st.Reason, act)
	}
}

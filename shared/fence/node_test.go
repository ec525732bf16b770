package fence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhenANodeIsDeleted: as the last step of a release that is whole, on a fresh
// proof, of a machine that stays off; and what becomes of the fence where it is not.
func TestWhenANodeIsDeleted(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   string
	}{
		"at once": {nil, "Releasing NodeDeletionSent, DeleteNode within 10s, until +50s"},
		"found off by others' doing": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = false },
			"Releasing NodeDeletionSent, DeleteNode within 10s, until +50s"},
		"a person said that it is off": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Proof.Type, f.Status.Proof.At = api.ProofConfirmed, *ago(50 * time.Second)
		}, "Releasing NodeDeletionSent, DeleteNode within 10s, until +50s"},
		"that its configuration leaves off": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Power(0).LeaveOff = api.ActionReboot, true
		}, "Fenced StaysOff, "},
		"the try is saved, and whoever saved it died": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Release.DeleteNodeUntil, f.Status.Release.NotAfter = ago(-20*time.Second), ago(5*time.Second)
		}, "Releasing Released, DeleteNode within 10s, until +20s"},
		"the try's end is near": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.DeleteNodeUntil = ago(-4 * time.Second) },
			"Releasing Released, DeleteNode within 4s, until +4s"},
		"the proof's end is near": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Proof.At = *ago(25 * time.Second) },
			"Releasing NodeDeletionSent, DeleteNode within 5s, until +50s"},
		"the proof is old":         {func(f *api.NodeFence, _ *observed.Look) { f.Status.Proof.At = *ago(31 * time.Second) }, "Fencing ProofExpired, "},
		"the Lease moved":          {func(_ *api.NodeFence, s *observed.Look) { s.Lease.Renewed = "new" }, "Recovering SignOfLife, "},
		"another boot":             {func(_ *api.NodeFence, s *observed.Look) { s.Node.BootID = "b" }, "Recovering SignOfLife, "},
		"the taint is on it still": {func(f *api.NodeFence, s *observed.Look) { f.Status.Placed.OutOfService, s.Cleared = true, false }, "Releasing Released, ClearOutOfService"},
		"it is gone, by us": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Release.DeleteNodeUntil, s.Node = ago(0), observed.Node{}
		}, "Recovering NodeDeleted, , outcome NodeDeleted"},
		"it is gone, by others": {func(_ *api.NodeFence, s *observed.Look) { s.Node = observed.Node{} }, "Recovering NodeGone, , outcome NodeGone"},
		"another of its name": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Release.DeleteNodeUntil, s.Node.UID = ago(0), "uid-2"
		}, "Recovering NodeReplaced, , outcome NodeReplaced"},
		"only its dump is heard of": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Proof.Type = "Other" }, "Fenced StaysOff, "},
		"no policy says so":         {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Release.DeleteNode = false }, "Fenced StaysOff, "},
		"it is switched on again":   {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Action = api.ActionReboot }, "PoweringOn Released, "},
		"off for today only": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Settings.PerNode.CutsPerDay = api.ActionReboot, 1
			f.Status.Power.Cuts = 1
		}, "Fenced StaysOff, "},
		"something came after": {func(_ *api.NodeFence, s *observed.Look) {
			s.Left = &observed.Left{Delete: []observed.Pod{{Name: "late"}}}
		}, "Fenced StaysOff, "},
		"something was left":           {func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.TimedOut = true }, "Fenced StaysOff, "},
		"others hold it":               {func(_ *api.NodeFence, s *observed.Look) { s.Node.Terminating = true }, "Fenced StaysOff, "},
		"nobody could within its time": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.DeleteNodeUntil = ago(0) }, "Fenced StaysOff, "},
	} {
		f := &api.NodeFence{Spec: specs.Gone().AsSpec(), Status: specs.Gone().In(api.NodeFenceStatus{})}
		done := ago(2 * time.Second)
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: api.Releasing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: ago(time.Minute), PhaseSince: ago(3 * time.Second), CutOrReleased: true,
			Reason: api.Released, BootIDBefore: "a", Placed: api.Placed{Taint: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: ago(time.Minute)},
			Power:   api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}},
			Proof:   &api.Proof{Type: api.ProofSeenOff, BootIDBefore: "a", NodeUID: "uid-1", FenceNumber: 1, At: *ago(3 * time.Second)},
			Release: api.ReleaseRecord{StartedAt: done, DoneAt: done},
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		if c.change != nil {
			c.change(f, &seen)
		}
		st, act := fence.Decide(f, seen, now)
		got := fmt.Sprintf("%s %s, %s", st.Phase, st.Reason, act)
		if act == fence.DeleteNode {
			got += fmt.Sprintf(" within %s, until +%s", st.Release.NotAfter.Sub(now), st.Release.DeleteNodeUntil.Sub(now))
		}
		if st.Outcome != "" {
			got += ", outcome " + string(st.Outcome)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s (%s)", name, d, st.Message)
		}
	}
}

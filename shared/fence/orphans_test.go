package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheWorkOfANodeThatIsGone: a machine that we cut is not switched on while anything
// is bound to the name of its Node, which was deleted meanwhile (S4), and nothing is
// done in that name, whoever has it (S6).
func TestTheWorkOfANodeThatIsGone(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	replaced := func(_ *api.NodeFence, s *observed.Look) { s.Node.Exists, s.Node.UID = true, "uid-2" }
	alive := func(f *api.NodeFence, s *observed.Look) {
		replaced(f, s)
		s.Node.Conditions, s.Lease.Renewed = []observed.Condition{{Type: "Ready", Status: "True"}}, "r1"
	}
	for name, c := range map[string]struct {
		phase  api.Phase
		change func(*api.NodeFence, *observed.Look)
		want   string
	}{
		"while it is released":          {api.Releasing, nil, "Releasing NodeGone, by +50s"},
		"while its power is cut":        {api.Fencing, nil, "Releasing NodeGone"},
		"while it is cut off":           {api.Isolating, nil, "Releasing NodeGone"},
		"while it waits once more":      {api.Pending, nil, "Releasing NodeGone"},
		"once it was given up":          {api.Failed, nil, "Releasing NodeGone"},
		"and another has its name":      {api.Releasing, replaced, "Releasing NodeReplaced, by +50s"},
		"and another is being cut":      {api.Fencing, replaced, "Releasing NodeReplaced"},
		"and another is healthy":        {api.Releasing, alive, "PoweringOn NodeReplaced, outcome NodeReplaced"},
		"nobody has looked at its work": {api.Releasing, func(_ *api.NodeFence, s *observed.Look) { s.Left = nil }, "Releasing SeenOff"},
		"only a volume is left":         {api.Releasing, func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{Attachments: 1} }, "Releasing NodeGone, by +50s"},
		"only a finalizer holds a pod":  {api.Releasing, func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{Terminating: 1} }, "Releasing NodeGone, by +50s"},
		"all of it is gone":             {api.Releasing, func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{} }, "PoweringOn NodeGone, outcome NodeGone"},
		"its release had begun":         {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.Deadline = ago(-20 * time.Second) }, "Releasing NodeGone, by +20s"},
		"its time is over": {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.Deadline = ago(0) },
			"PoweringOn NodeGone, by +0s, outcome NodeGone, told 1 pods and 1 attachments are left after 50s: pod /p; going on"},
		"its work was released": {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { f.Status.Release.DoneAt = ago(0) }, "PoweringOn NodeGone, outcome NodeGone"},
		"its pods are nobody's": {api.Releasing, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Settings.Release.Strategy, s.Left = api.ReleaseNone, &observed.Left{}
		},
			"PoweringOn NodeGone, outcome NodeGone"},
		"it was left off a day ago": {api.Fenced, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.PerNode.CutsPerDay, f.Status.Power.Cuts, f.Status.Power.CutAt, f.Status.Release.DoneAt = 1, 1, ago(25*time.Hour), ago(25*time.Hour)
		}, "Recovering NodeGone, outcome NodeGone"},
		"it is not switched on":        {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Action = api.ActionOff }, "Recovering NodeGone, outcome NodeGone"},
		"others have switched it off":  {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = false }, "Recovering NodeGone, outcome NodeGone"},
		"it had none, and has one now": {api.Releasing, func(f *api.NodeFence, s *observed.Look) { missingFrom(f); replaced(f, s) }, "Releasing NodeReplaced, by +50s"},
		"it had none, and has none":    {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { missingFrom(f) }, "Releasing SeenOff, by +50s"},
		"it had none, and its time is over": {api.Releasing, func(f *api.NodeFence, _ *observed.Look) { missingFrom(f); f.Status.Release.Deadline = ago(0) },
			"PoweringOn ReleaseTimedOut, by +0s, told 1 pods and 1 attachments are left after 50s: pod /p; going on"},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: c.phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: ago(time.Minute), PhaseSince: ago(3 * time.Second), CutOrReleased: true,
			Reason: api.SeenOff, BootIDBefore: "a", Lease: api.LeaseRecord{Renewed: "r0", StillSince: ago(time.Minute)},
			Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: ago(5 * time.Second)}},
			Proof: &api.Proof{Type: api.ProofSeenOff, BootIDBefore: "a", NodeUID: "uid-1", FenceNumber: 1, At: *ago(3 * time.Second)},
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		seen.Node.Exists, seen.Node.UID, seen.Left = false, "", &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1}
		if c.change != nil {
			c.change(f, &seen)
		}
		st, act := fence.Decide(f, seen, now)
		got := fmt.Sprintf("%s %s", st.Phase, st.Reason)
		if until := st.Release.Deadline; until != nil {
			got += fmt.Sprintf(", by +%s", until.Sub(now))
		}
		if st.Outcome != "" {
			got += ", outcome " + string(st.Outcome)
		}
		for _, h := range st.History {
			if h.Reason == api.ReleaseTimedOut && !strings.Contains(got, "told") {
				got += ", told " + h.Message
			}
		}
		if d := cmp.Diff(c.want, got); d != "" || act != fence.None {
			t.Errorf("%s: %s (%s), action %q", name, d, st.Message, act)
		}
	}
}

// missingFrom is a fence that was opened because there was no Node object.
func missingFrom(f *api.NodeFence) {
	f.Status.Decision.NodeUID, f.Status.BootIDBefore, f.Status.Proof.BootIDBefore, f.Status.Proof.NodeUID = "", "", "", ""
	f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: observed.StampOf(fencetest.Start)}
}

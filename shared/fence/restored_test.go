package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAWordWaitsForAPictureOfNow: a process that has just started knows of a restore by
// the ledger alone. What is released on a person's word waits until the source has drawn
// there since; what rests on reads, and an end that a person asks for, do not (S16, S27).
func TestAWordWaitsForAPictureOfNow(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	type end struct {
		Phase  api.Phase
		Reason api.Reason
		Act    fence.Action
	}
	over := func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Release = begunAt(now, false)
		f.Status.Release.Deadline = f.Status.Release.StartedAt
	}
	for name, c := range map[string]struct {
		kind   api.ProofKind
		old    string
		change func(*api.NodeFence, *observed.Look)
		want   end
	}{
		"the picture is of now":                           {api.ProofConfirmed, "", nil, end{api.Releasing, api.ReleaseStarted, fence.Release}},
		"it is old":                                       {api.ProofConfirmed, "old", nil, end{api.Releasing, api.LeasePictureOld, fence.None}},
		"it is old, and we cut the machine":               {api.ProofConfirmed, "old", func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = true }, end{api.Releasing, api.LeasePictureOld, fence.None}},
		"it is old, and the release is begun":             {api.ProofConfirmed, "old", func(f *api.NodeFence, _ *observed.Look) { f.Status.Release = begunAt(now, false) }, end{api.Releasing, api.LeasePictureOld, fence.None}},
		"it is old, and the release's time is over":       {api.ProofConfirmed, "old", over, end{api.Fenced, api.StaysOff, fence.None}},
		"it is old, and the machine was seen off":         {api.ProofSeenOff, "old", nil, end{api.Releasing, api.ReleaseStarted, fence.Release}},
		"it is old, and a person ends it":                 {api.ProofConfirmed, "old", func(_ *api.NodeFence, s *observed.Look) { s.Deleting = true }, end{api.Recovering, api.Aborted, fence.None}},
		"it is old, we cut it, and a person ends it":      {api.ProofConfirmed, "old", func(f *api.NodeFence, s *observed.Look) { f.Status.Power.SwitchedByUs, s.Deleting = true, true }, end{api.PoweringOn, api.ReleaseTimedOut, fence.None}},
		"nobody confirms a restore, and a person ends it": {api.ProofConfirmed, "restored", func(f *api.NodeFence, s *observed.Look) { f.Status.Power.SwitchedByUs, s.Deleting = true, true }, end{api.PoweringOn, api.ReleaseTimedOut, fence.None}},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Phase = api.Releasing
				f.Status.Proof = &api.Proof{Type: c.kind, At: observed.StampOf(now), By: "ann", BootIDBefore: "a"}
				s.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}}
				s.Brakes.Unwatched = c.old
				if c.old == "restored" {
					s.Brakes = observed.Brakes{Looked: true, Stopped: true, Why: api.StateWentBack, Message: "the API server went back"}
				}
				if c.change != nil {
					c.change(f, s)
				}
			})
			st, act := fence.Decide(f, s, now)
			if d := cmp.Diff(c.want, end{st.Phase, st.Reason, act}); d != "" {
				t.Errorf("%s(%s)", d, st.Message)
			}
		})
	}
}

// TestOnlyAFreshPictureTellsOfNow: the picture in a backup is as old as the backup, and no
// further Off is sent beside it either (S16).
func TestOnlyAFreshPictureTellsOfNow(t *testing.T) {
	for name, c := range map[string]struct {
		age, watched time.Duration
		off          bool
	}{
		"of now":                           {0, time.Hour, true},
		"as old as it gets":                {30 * time.Second, time.Hour, true},
		"of a backup":                      {30*time.Second + time.Millisecond, time.Hour, false},
		"of a source that has just begun":  {0, time.Second, false},
		"of a clock that was set back":     {-3 * time.Second, time.Hour, false},
		"of nobody, as nobody has watched": {-1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			ps := []api.FencePolicy{fencetest.LivePolicy()}
			f := underPolicy(ps, true)
			all, l := cluster(f)
			at, since := observed.StampOf(fencetest.Start.Add(-c.age)), observed.StampOf(fencetest.Start.Add(-c.age-c.watched))
			l.Status.Leases = api.LeasePicture{ObservedAt: &at, Since: &since, Total: 10, Renewal: metav1.Duration{Duration: 10 * time.Second}}
			if c.watched == 0 {
				l.Status.Leases = api.LeasePicture{}
			}
			seen := lookBeforeOff(f, ps, all, l)
			if known := seen.Brakes.Unwatched == ""; known != c.off {
				t.Errorf("known that nothing went back: %v, %q", known, seen.Brakes.Unwatched)
			}
			if st, act := fence.Decide(f, seen, fencetest.Start); act == fence.Off != c.off {
				t.Errorf("%s, %s: %s", act, st.Reason, st.Message)
			}
		})
	}
}

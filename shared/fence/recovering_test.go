package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestALifeThatWasSeenIsNotWaitedFor: a machine that boots while its device is still waited for
// has renewed its Lease by the time it reads on. That counts: it was proven off before. What
// moved before the proof, or at a machine that was only cut off from its storage, may be the
// life that was cut, whose Ready is yesterday's (S3).
func TestALifeThatWasSeenIsNotWaitedFor(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	const waits = fence.None
	for name, c := range map[string]struct {
		proof api.ProofKind
		// proven, moved and entered are how long ago that was.
		proven, moved, entered time.Duration
		ready                  string
		want                   fence.Action
	}{
		"it moved since the phase began":            {api.ProofSeenOff, 9 * time.Second, 2 * time.Second, 3 * time.Second, "True", fence.Undo},
		"it moved between the proof and the phase":  {api.ProofSeenOff, 9 * time.Second, 5 * time.Second, 3 * time.Second, "True", fence.Undo},
		"it moved in the look that began the phase": {api.ProofSeenOff, 9 * time.Second, 3 * time.Second, 3 * time.Second, "True", fence.Undo},
		"a person said that the machine was off":    {api.ProofConfirmed, 9 * time.Second, 5 * time.Second, 3 * time.Second, "True", fence.Undo},
		"it moved before the proof":                 {api.ProofSeenOff, 9 * time.Second, 12 * time.Second, 3 * time.Second, "True", waits},
		"it has stood still for too long since":     {api.ProofSeenOff, time.Minute, 2 * fencetest.Renewal, 3 * time.Second, "True", waits},
		"the node is not Ready":                     {api.ProofSeenOff, 9 * time.Second, 5 * time.Second, 3 * time.Second, "Unknown", waits},
		"the machine was cut off from its storage":  {api.ProofStorageCut, 9 * time.Second, 5 * time.Second, 3 * time.Second, "True", waits},
		"its memory was dumped":                     {api.ProofKdump, 9 * time.Second, 5 * time.Second, 3 * time.Second, "True", waits},
		"nothing was proven":                        {"", 0, 5 * time.Second, 3 * time.Second, "True", waits},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Decision.Settings.Recovery.ReadyDuration.Duration = 0
				f.Status.Phase, f.Status.PhaseSince = api.Recovering, ago(c.entered)
				f.Status.Lease = api.LeaseRecord{Renewed: s.Lease.Renewed, StillSince: ago(c.moved)}
				if f.Status.Proof = nil; c.proof != "" {
					f.Status.Proof = &api.Proof{Type: c.proof, At: *ago(c.proven), BootIDBefore: "a"}
				}
				s.Node.Conditions[0].Status = c.ready
			})
			if _, act := fence.Decide(f, s, now); act != c.want {
				t.Errorf("%q, want %q", act, c.want)
			}
		})
	}
}

// TestANodeThatNeverCameBackIsNotRecovered: a person ends the record, and it says so.
func TestANodeThatNeverCameBackIsNotRecovered(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now.Add(-time.Minute - f.Status.Decision.Settings.Recovery.BootTimeout.Duration))
		f.Status.Phase, f.Status.PhaseSince = api.Recovering, &at
		s.Deleting = true
	})
	if st, _ := fence.Decide(f, s, now); st.Outcome != api.Aborted {
		t.Errorf("it ended as %q", st.Outcome)
	}
}

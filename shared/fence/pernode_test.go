package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestTheLastCutOfADay: three cuts a day are the default; after the third the work is
// released and the machine stays off. With onLast: Hold it is switched on again, and the
// fourth failure is held with its work bound to the node. The strictest policy holds.
func TestTheLastCutOfADay(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	hold := func(cuts int) *api.PerNode {
		p, on := fencetest.PerDay(cuts), api.OnLastHold
		p.OnLast = &on
		return p
	}
	type end struct {
		phase  api.Phase
		reason api.Reason
	}
	for name, c := range map[string]struct {
		policies []*api.PerNode
		before   int // cuts of closed fences
		released bool
		want     end
	}{
		"the second is switched on again":               {[]*api.PerNode{nil}, 1, true, end{api.PoweringOn, api.Released}},
		"the third stays off":                           {[]*api.PerNode{nil}, 2, true, end{api.Fenced, api.StaysOff}},
		"with Hold it is switched on again":             {[]*api.PerNode{hold(3)}, 2, true, end{api.PoweringOn, api.Released}},
		"with Hold the fourth failure is held":          {[]*api.PerNode{hold(3)}, 3, false, end{api.Pending, api.NodeFencedTooOften}},
		"so is one that a person had switched on":       {[]*api.PerNode{nil}, 3, false, end{api.Pending, api.NodeFencedTooOften}},
		"another policy allows fewer, and leaves off":   {[]*api.PerNode{hold(3), fencetest.PerDay(2)}, 1, true, end{api.Fenced, api.StaysOff}},
		"another policy allows fewer, and holds":        {[]*api.PerNode{fencetest.PerDay(3), hold(2)}, 1, true, end{api.PoweringOn, api.Released}},
		"of two that allow as many one that leaves off": {[]*api.PerNode{hold(2), fencetest.PerDay(2)}, 1, true, end{api.Fenced, api.StaysOff}},
	} {
		var policies []api.FencePolicy
		for i, p := range c.policies {
			l := fencetest.LivePolicy()
			l.Name, l.Spec.Precedence, l.Spec.Limits.PerNode = string(rune('p'+i)), new(int32(i)), p
			policies = append(policies, l)
		}
		f := &api.NodeFence{}
		fencetest.Spec().To(f)
		f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(policies, "n", nil)
		for i := range c.before {
			f.Status.Past = append(f.Status.Past, api.PastFence{FenceNumber: int64(i), Cuts: 1, ClosedAt: *ago(time.Duration(3-i) * time.Hour)})
		}
		f.Status.FenceNumber, f.Status.MinReaderVersion, f.Status.OpenedAt, f.Status.PhaseSince = 1, api.Schema, ago(time.Minute), ago(3*time.Second)
		f.Status.Phase, f.Status.Lease = api.Pending, api.LeaseRecord{Renewed: "r0", StillSince: ago(time.Minute)}
		if c.released {
			done := ago(2 * time.Second)
			f.Status.Phase, f.Status.Reason, f.Status.BootIDBefore, f.Status.Placed.Taint, f.Status.CutOrReleased = api.Releasing, api.Released, "a", true, true
			f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}, Cuts: 1, CutAt: ago(10 * time.Second)}
			f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, BootIDBefore: "a", NodeUID: "uid-1", FenceNumber: 1, At: *ago(3 * time.Second)}
			f.Status.Release = api.ReleaseRecord{StartedAt: done, DoneAt: done}
		}
		st, _ := fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
		if got := (end{st.Phase, st.Reason}); got != c.want {
			t.Errorf("%s: %v, want %v (%s)", name, got, c.want, st.Message)
		}
	}
}

package fence

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAnotherMachineUnderTheName: it registered while ours was off by us. Ours is switched
// on where nothing else lives under its name; two kubelets of one name would both start
// its pods (S1, S6). If ours is on, it is ours that registered anew.
func TestAnotherMachineUnderTheName(t *testing.T) {
	now := walkStart.Add(time.Hour)
	for name, c := range map[string]struct {
		power, ready string
		want         api.Phase
		why          api.Reason
	}{
		"it is healthy, and ours reads off":     {"Off", "True", api.Recovering, api.NodeReplaced},
		"it is healthy, and ours is not heard":  {"", "True", api.Recovering, api.NodeReplaced},
		"it is healthy, and ours reads on":      {"On", "True", api.Recovering, api.SeenOn},
		"it is not healthy, and ours reads off": {"Off", "Unknown", api.PoweringOn, api.NodeReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *Seen) {
				cut, since := stampOf(now.Add(-time.Minute)), stampOf(now.Add(-time.Second))
				f.Status.Phase, f.Status.PhaseSince, f.Status.Reason = api.PoweringOn, &since, api.NodeReplaced
				f.Status.Power = api.PowerRecord{CutByUs: true, Cuts: 1, CutAt: &cut, EffectUntil: &cut, Cut: []int32{0}}
				s.Node.UID, s.Node.BootID, s.Node.Conditions[0].Status, s.Lease.Renewed = "another", "b", c.ready, "r1"
				read(f, s, now, c.power)
			})
			st, act := Decide(f, s, now)
			if st.Phase != c.want || st.Reason != c.why || act == On {
				t.Errorf("%s, %s, action %q (%s)", st.Phase, st.Reason, act, st.Message)
			}
		})
	}
}

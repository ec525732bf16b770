package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAnotherMachineUnderTheName: it registered while ours was off by us. Ours is switched
// on where nothing else lives under its name; two kubelets of one name would both start
// its pods (S1, S6). If ours is on, it is ours that registered anew.
func TestAnotherMachineUnderTheName(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		power, ready string
		want         api.Phase
		why          api.Reason
		// missing: ours had no Node object when it was cut.
		missing bool
	}{
		"it is healthy, and ours, which had no Node, reads off": {"Off", "True", api.Recovering, api.NodeReplaced, true},
		"it is healthy, and ours, which had no Node, reads on":  {"On", "True", api.Recovering, api.SeenOn, true},
		"it is healthy, and may be ours, which is not heard":    {"", "True", api.PoweringOn, api.DeviceFailed, true},
		"it is healthy, and ours reads off":                     {"Off", "True", api.Recovering, api.NodeReplaced, false},
		"it is healthy, and ours is not heard":                  {"", "True", api.Recovering, api.NodeReplaced, false},
		"it is healthy, and ours reads on":                      {"On", "True", api.Recovering, api.SeenOn, false},
		"it is not healthy, and ours reads off":                 {"Off", "Unknown", api.PoweringOn, api.NodeReplaced, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				cut, since := observed.StampOf(now.Add(-time.Minute)), observed.StampOf(now.Add(-time.Second))
				f.Status.Phase, f.Status.PhaseSince, f.Status.Reason = api.PoweringOn, &since, api.NodeReplaced
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &cut}, Cuts: 1, CutAt: &cut, Cut: []int32{0}}
				s.Node.UID, s.Node.BootID, s.Node.Conditions[0].Status, s.Lease.Renewed = "another", "b", c.ready, "r1"
				read(f, s, now, c.power)
				if c.missing {
					f.Status.Decision.NodeUID, f.Status.Decision.Trigger = "", api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}}
				}
			})
			st, act := fence.Decide(f, s, now)
			if st.Phase != c.want || st.Reason != c.why || act == fence.On {
				t.Errorf("%s, %s, action %q (%s)", st.Phase, st.Reason, act, st.Message)
			}
		})
	}
}

// TestAnotherMachineIsWaitedFor: the On would go out a moment after the phase was entered,
// before a Lease could be seen to move. It waits for the Lease: moved, ours stays off; still
// for two renewals, nobody is there (S1, S6).
func TestAnotherMachineIsWaitedFor(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		still time.Duration
		moved bool
		act   fence.Action
		why   api.Reason
	}{
		"its Lease was renewed a moment ago":   {still: time.Second, act: fence.None, why: api.NodeReplaced},
		"its Lease has moved since":            {still: time.Second, moved: true, act: fence.Read},
		"its Lease has stood for two renewals": {still: 2 * fencetest.Renewal, act: fence.On, why: api.PowerOnSent},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				cut, since, off := observed.StampOf(now.Add(-time.Minute)), observed.StampOf(now.Add(-time.Millisecond)), observed.StampOf(now.Add(-time.Millisecond))
				if c.moved {
					since = observed.StampOf(now.Add(-3 * time.Second))
				}
				still := observed.StampOf(now.Add(-c.still))
				f.Status.Phase, f.Status.PhaseSince, f.Status.Reason = api.PoweringOn, &since, ""
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &cut, LastRead: &api.Read{State: api.PoweredOff, At: off}}, Cuts: 1, CutAt: &cut, Cut: []int32{0}}
				f.Status.Lease = api.LeaseRecord{Renewed: "r1", StillSince: &still}
				s.Node.UID, s.Node.BootID, s.Node.Conditions[0].Status, s.Lease.Renewed = "another", "b", "True", "r1"
				s.Lease.StillSince = time.Time{}
			})
			st, act := fence.Decide(f, s, now)
			if act != c.act || st.Phase != api.PoweringOn || st.Reason != c.why || st.NextLook == nil {
				t.Errorf("%s, %s, action %q, next look %v (%s)", st.Phase, st.Reason, act, st.NextLook, st.Message)
			}
		})
	}
}

package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAPlannedRebootIsNotCutShort: while kured or OpenShift says that it reboots the machine, the gate waits for as
// long as the policy gives a machine to boot. A person who asks for a fence, and a person's word, do not wait, and neither
// does a fence whose power is cut already (S25).
func TestAPlannedRebootIsNotCutShort(t *testing.T) {
	asks := func(user, kind string) func(*api.NodeFence) {
		return func(f *api.NodeFence) {
			f.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", Type: kind, User: user, JoinedAt: f.Status.Decision.Trigger.Since}}
		}
	}
	for name, c := range map[string]struct {
		after  time.Duration
		change func(*api.NodeFence)
		node   func(*observed.Node)
		want   api.Reason
	}{
		"it has just failed":          {0, nil, nil, api.RebootUnderWay},
		"it does not come back":       {15 * time.Minute, nil, nil, api.Admitted},
		"the mark is gone":            {0, nil, func(n *observed.Node) { n.Rebooting = "" }, api.Admitted},
		"it is back":                  {0, nil, func(n *observed.Node) { n.Conditions[0].Status = "True" }, api.HealedBeforeFence},
		"a fence is asked for":        {0, asks("anna", "t"), nil, api.Admitted},
		"a FenceRequest of a program": {0, asks("FenceRequest nodefence-system/workers-x7k2p, owner NodeHealthCheck/workers", "t"), nil, api.RebootUnderWay},
		"a service account asks":      {0, asks("system:serviceaccount:ops:robot", "t"), nil, api.RebootUnderWay},
		"a source that a rule trusts": {0, asks("", "t"), nil, api.RebootUnderWay},
		"a program reports a problem": {0, asks("", api.ProblemEventType), nil, api.RebootUnderWay},
		"a person says that it is off": {0, func(f *api.NodeFence) {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "anna", At: metav1.NewTime(fencetest.Start)}}
		}, nil, api.Admitted},
		"its power is cut already": {0, func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Power.SwitchedByUs, f.Status.CutOrReleased = api.Fencing, true, true
		}, nil, ""},
		"it was admitted, and goes on": {0, func(f *api.NodeFence) { f.Status.Phase = api.Isolating }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, _ := fencetest.World(fencetest.Start)
			failed := observed.StampOf(fencetest.Start.Add(-c.after))
			fencetest.Spec().To(f)
			f.Status.Decision.Settings.Recovery.BootTimeout.Duration = 15 * time.Minute
			f.Status.Decision.Trigger.Since = failed
			f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &failed, PhaseSince: &failed, DecidedAt: &failed}
			if c.change != nil {
				c.change(f)
			}
			seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
			seen.Node.Rebooting = "kured reboots this machine"
			if c.node != nil {
				c.node(&seen.Node)
			}
			if st, act := fence.Decide(f, seen, fencetest.Start); st.Reason != c.want {
				t.Errorf("%s %s: %s, %s", st.Phase, st.Reason, st.Message, act)
			}
		})
	}
}

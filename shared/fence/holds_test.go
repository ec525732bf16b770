package fence_test

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

// TestTheGateKnowsEachHold: a fence that waits for a slot is held by the first row of the table. Our marks leave a
// node where a row of the step that answers wants that, also a row that is masked there.
func TestTheGateKnowsEachHold(t *testing.T) {
	holdtest.Try(t, func(hold.Row) bool { return true }, func(c holdtest.Case) api.Reason {
		st, act := atTheGate(c, false)
		if (act == fence.Reserve) != (len(c.Rows) == 0) || act != "" && act != fence.Reserve {
			t.Errorf("%s: the action is %q", c.Name(), act)
		}
		return st.Reason
	})
	for _, c := range holdtest.Cases(t) {
		var step []hold.Hold
		for _, r := range c.Rows {
			if r.Group == c.Rows[0].Group {
				step = append(step, hold.Hold{Row: r})
			}
		}
		if st, _ := atTheGate(c, true); (st.Phase == api.Recovering) != hold.Unmarks(step) {
			t.Errorf("%s: a marked node comes to %s: %s", c.Name(), st.Phase, st.Reason)
		}
	}
}

// atTheGate decides on a fence of the node of a case. A marked fence was sent back with nodefence's marks on the node.
func atTheGate(c holdtest.Case, marked bool) (api.NodeFenceStatus, fence.Action) {
	f, _, l := fencetest.World(fencetest.Start)
	limits := f.Status.Decision.Limits
	fencetest.Spec().To(f)
	f.Spec.NodeName = c.Node.Name
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema}
	f.Status.Placed.Taint, f.Status.Placed.Cordon, f.Status.Refuted = marked, marked, c.Record.Refuted()
	d := &f.Status.Decision
	is := c.Resolved()
	d.Limits, d.Policy = limits, is.Policy
	d.Settings.Conflict, d.Settings.Excluded, d.Settings.Mode, d.Settings.ControlPlane, d.Settings.ApprovalTimeout.Duration = is.Settings.Conflict, is.Settings.Excluded, is.Settings.Mode, is.Settings.ControlPlane, time.Hour
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	node := look.NodeFrom(c.Node, "")
	node.Conditions = seen.Node.Conditions
	node.Taint, node.Cordoned, node.CordonOurs = marked, marked, marked
	seen.Node, seen.Self, seen.Reserved, seen.DryRun = node, c.Self, nil, &observed.DryRun{At: fencetest.Start}
	b := admission.Against(f, c.Policies, node, l, fencetest.Start)
	seen.Brakes = observed.Brakes{Looked: true, Counted: true, Stopped: b.Stopped, Why: b.Why, Message: b.Message}
	return fence.Decide(f, seen, fencetest.Start)
}

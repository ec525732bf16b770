package fence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatIsSaidWhileTheMachineIsOffIsKept: how the conditions of a node stand while its machine is proven off is
// kept, so that none of them counts for the next boot. It outlives the end of the fence (S3, S26).
func TestWhatIsSaidWhileTheMachineIsOffIsKept(t *testing.T) {
	deadlock := observed.Condition{Type: "KernelDeadlock", Status: "True", Mark: "m1"}
	said := []api.SaidCondition{{Type: "KernelDeadlock", Status: "True", Mark: "m1"}}
	for name, c := range map[string]struct {
		proof api.ProofKind
		phase api.Phase
		boot  string
		seen  observed.Condition
		want  []api.SaidCondition
	}{
		"seen off":                          {api.ProofSeenOff, api.Releasing, "a", deadlock, said},
		"confirmed off":                     {api.ProofConfirmed, api.Releasing, "a", deadlock, said},
		"dumping":                           {api.ProofKdump, api.Releasing, "a", deadlock, said},
		"cut off from storage, and running": {api.ProofStorageCut, api.Releasing, "a", deadlock, nil},
		"no proof":                          {"", api.Releasing, "a", deadlock, nil},
		"the kubelet's own":                 {api.ProofSeenOff, api.Releasing, "a", observed.Condition{Type: "DiskPressure", Status: "True", Mark: "m1"}, nil},
		"it has booted":                     {api.ProofSeenOff, api.Releasing, "b", deadlock, nil},
		"it comes back":                     {api.ProofSeenOff, api.Recovering, "a", deadlock, nil},
		"it has come back":                  {api.ProofSeenOff, api.Recovering, "b", deadlock, nil},
	} {
		f := reportedAt(c.phase)
		at := fencetest.Start.Add(time.Second)
		now := observed.StampOf(at)
		if c.proof != "" {
			f.Status.Proof = &api.Proof{Type: c.proof, FenceUID: f.UID, FenceNumber: 1, NodeUID: f.Status.Decision.NodeUID, BootIDBefore: "a", At: now}
		}
		f.Status.CutOrReleased = true
		seen := fencetest.Look(f, at, "Unknown", false, "a")
		seen.Node.BootID, seen.Node.Conditions = c.boot, append(seen.Node.Conditions, c.seen)
		st, _ := fence.Decide(f, seen, at)
		if d := cmp.Diff(c.want, st.SaidBefore); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		f.Status = st
		if d := cmp.Diff(c.want, fence.Opening(f, f.Status.Decision, at).SaidBefore); d != "" {
			t.Errorf("%s, when the next fence opens: %s", name, d)
		}
	}
}

// TestTheLastWordOfAConditionIsKept, and no more of them than a record takes.
func TestTheLastWordOfAConditionIsKept(t *testing.T) {
	var st api.NodeFenceStatus
	for i := range 40 {
		st.KeepSaid([]api.SaidCondition{{Type: fmt.Sprint(i), Status: "True", Mark: "m1"}})
	}
	st.KeepSaid([]api.SaidCondition{{Type: "3", Status: "True", Mark: "m2"}})
	old, last := api.SaidCondition{Type: "3", Status: "True", Mark: "m1"}, api.SaidCondition{Type: "3", Status: "True", Mark: "m2"}
	if len(st.SaidBefore) != api.MaxSaidBefore || st.SaidBeforeBoot(old) || !st.SaidBeforeBoot(last) {
		t.Errorf("kept %d: %v", len(st.SaidBefore), st.SaidBefore)
	}
}

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestAnotherFailureThanTheAborted: a person ends the fence for a condition that stays. The machine crashes
// after that. It is fenced for that alone (S17), and the condition opens no fence after it either.
func TestAnotherFailureThanTheAborted(t *testing.T) {
	w := newWorld(t, 3, quick+"unhealthyConditions: [{type: Broken, status: \"True\", duration: 1h}, {type: Ready, status: Unknown, duration: 1s}]\n")
	w.people()
	w.start(nil)
	node := w.database(1)
	w.breaks(node, corev1.ConditionTrue)
	w.phase(node, api.Pending)
	w.until("the wish to abort to be written", func() (bool, error) {
		return w.change("otto", node, func(s *api.NodeFenceSpec) { s.Requests.Abort = aborts("otto") }) == refusal{}, nil
	})
	w.ended(node, api.Aborted)

	w.node(node, "crash")
	w.moved("db-0", node)
	f := w.ended(node, api.Recovered)
	if c := f.Status.Decision.Trigger.NodeCondition; f.Status.FenceNumber != 2 || c == nil || c.Type != string(corev1.NodeReady) || len(f.Status.Evidence) > 0 {
		t.Errorf("fence %d opened for %+v, and of that there is still %+v\n%s", f.Status.FenceNumber, f.Status.Decision.Trigger, f.Status.Evidence, rig.Story(f))
	}
	w.words(node, "off on")
	w.oneWriter()

	// Of the condition's next look nothing comes. When it begins anew it is another failure.
	w.breaks(node, corev1.ConditionFalse)
	w.breaks(node, corev1.ConditionTrue)
	if f := w.phase(node, api.Pending); f.Status.FenceNumber != 3 {
		t.Errorf("fence %d is open for what broke anew, want 3\n%s", f.Status.FenceNumber, rig.Story(f))
	}
}

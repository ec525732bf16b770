package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestMissingNode: a machine hangs, and somebody deletes its Node object. The policy expects the
// node, so its machine is switched off and on, and it registers again. While the label that the
// Node object had last says so, the machine is left alone.
func TestMissingNode(t *testing.T) {
	w := newWorld(t, 3, quick+"missingNodes: {nodeNames: [node-1], duration: 1m}\n")
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	w.until("the node to be enrolled as a worker", func() (bool, error) {
		cm, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName("node-1"), metav1.GetOptions{})
		return err == nil && cm.Data["role"] == kube.WorkerRole, nil
	})
	w.node("node-1", "crash")
	enrolments := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, "node-1", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":"true"}}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, w.Kube.CoreV1().Nodes().Delete(w.ctx, "node-1", metav1.DeleteOptions{}))
	w.until("the fence to be held", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "node-1")
		return f != nil && f.Status.Decision.Trigger.Missing() && f.Status.Reason == api.Excluded, err
	})
	w.words("node-1", "")
	_, err = enrolments.Patch(w.ctx, kube.EnrolledName("node-1"), types.MergePatchType, []byte(`{"data":{"excluded":null}}`), metav1.PatchOptions{})
	must(t, err)
	f := w.phase("node-1", api.Finished)
	if !f.Status.Decision.Trigger.Missing() || f.Status.Decision.NodeUID != "" || f.Status.Release.StartedAt != nil || f.Status.Outcome != api.Recovered {
		t.Errorf("trigger %+v, node UID %q, release %+v, outcome %s", f.Status.Decision.Trigger, f.Status.Decision.NodeUID, f.Status.Release, f.Status.Outcome)
	}
	w.words("node-1", "off on")
	w.unmarked("node-1")
}

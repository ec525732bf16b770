package e2e

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestDeleteNode: a machine that never comes back is switched off, its work starts
// elsewhere, and only then its Node object is deleted, and the fence with it.
func TestDeleteNode(t *testing.T) {
	w := newWorld(t, 3, quick+"action: PowerOff\nrelease: {deleteNode: true}\n")
	db := w.database(1)
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	w.node(db, "crash")
	w.moved("db-0", db)
	w.oneWriter()
	f := w.phase(db, api.Finished)
	if f.Status.Outcome != api.NodeDeleted || f.Status.Release.DoneAt == nil || f.Status.Release.DeleteNodeUntil == nil {
		t.Errorf("outcome %s, release %+v", f.Status.Outcome, f.Status.Release)
	}
	if _, err := w.Kube.CoreV1().Nodes().Get(w.ctx, db, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Node %s: %v", db, err)
	}
	nodes, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("%d Nodes are left: %v", len(nodes.Items), err)
	}
	w.words(db, "off")
	// A machine that is switched on later gets a new Node, which the old record does not know.
	w.node(db, "power-on")
	w.until("it to be there again", func() (bool, error) {
		n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, db, metav1.GetOptions{})
		return err == nil && n.UID != f.Status.Decision.NodeUID && len(n.Spec.Taints) == 0 && !n.Spec.Unschedulable, nil
	})
}

package e2e

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestTwoRemediatorsTakeTurns: as long as another program holds a node's Lease in medik8s-leases, the
// fence waits, says for whom, and sends no command to the device. It then holds the Lease itself until
// the node is back.
func TestTwoRemediatorsTakeTurns(t *testing.T) {
	const turns = "medik8s-leases"
	w := newWorld(t, 3, quick)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: turns}}
	_, err := w.Kube.CoreV1().Namespaces().Create(w.ctx, ns, metav1.CreateOptions{})
	must(t, err)
	w.start(func(o *local.Options) { o.Settings.RemediationLeases = turns })
	node := w.database(1)

	leases := w.Kube.CoordinationV1().Leases(turns)
	holder, hour := "node-maintenance", int32(3600)
	_, err = leases.Create(w.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "node-" + node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &hour},
	}, metav1.CreateOptions{})
	must(t, err)
	w.node(node, "crash")
	f := w.held(node, api.AnotherRemediator)
	says := "node-maintenance works on this node: it holds Lease medik8s-leases/node-" + node + ", which is waited for until it is given up or stands still for its whole duration"
	if f.Status.Phase != api.Pending || f.Status.Message != says {
		t.Errorf("it waits as %s: %s", f.Status.Phase, f.Status.Message)
	}
	w.words(node, "")
	w.unmarked(node)

	must(t, leases.Delete(w.ctx, "node-"+node, metav1.DeleteOptions{}))
	w.until("the Lease to be nodefence's", func() (bool, error) {
		l, err := leases.Get(w.ctx, "node-"+node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && *l.Spec.HolderIdentity == "nodefence", err
	})
	w.ended(node, api.Recovered)
	w.words(node, "off on")
	w.oneWriter()
	if l, err := leases.Get(w.ctx, "node-"+node, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the fence has ended, and the Lease is there: %v, %v", l, err)
	}
}

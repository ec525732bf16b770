package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ofMachine makes a Node name its Machine, as Machine controllers do.
func (w *world) ofMachine(node, namespace, machine string) {
	w.t.Helper()
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"annotations":{"machine.openshift.io/machine":"%s/%s","cluster.x-k8s.io/cluster-namespace":%q,"cluster.x-k8s.io/machine":%q}}}`,
		namespace, machine, namespace, machine), metav1.PatchOptions{})
	must(w.t, err)
}

// TestMachineBeingDeleted: nodefence does not interfere with the deletion of a Machine,
// however long that takes; a person's confirmation releases the work meanwhile. A node that
// names another node's dying Machine is fenced like any other (S11, S18).
func TestMachineBeingDeleted(t *testing.T) {
	w := newWorld(t, 4, quick)
	m, _ := w.instances()
	m.cloud.OnStop = nil // what switches these machines is their BMC
	db := w.database(1)
	w.ofMachine(db, machineNamespace, db)
	_, err := m.api.Patch(w.ctx, db, types.MergePatchType, fmt.Appendf(nil, `{"status":{"nodeRef":{"kind":"Node","name":%q}}}`, db), metav1.PatchOptions{}, "status")
	must(t, err)
	nodes, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(t, err)
	other := nodes.Items[slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return n.Name != db })].Name
	w.ofMachine(other, machineNamespace, db)
	p := w.start(nil)
	must(t, p.Watching(w.ctx))

	// Nobody ends the instance of this one.
	must(t, m.api.Delete(w.ctx, db, metav1.DeleteOptions{}))
	w.node(db, "power-loss")
	held := func(f *api.NodeFence) bool {
		return f != nil && f.Status.Phase == api.Pending && f.Status.Reason == api.NodeBeingDeleted &&
			strings.HasPrefix(f.Status.Message, "its Machine "+machineNamespace+"/"+db+" has been in deletion since ")
	}
	w.until("it to be held", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, db)
		return held(f), err
	})
	w.node(other, "crash")
	if f := w.phase(other, api.Finished); f.Status.Outcome != api.Recovered {
		t.Errorf("the one with a false name: %s", f.Status.Outcome)
	}
	w.words(other, "off on")
	if f, err := w.Fences.Fence(w.ctx, db); err != nil || !held(f) {
		t.Fatalf("held no more: %v %+v", err, f)
	}
	w.words(db, "")
	w.until("the policy to say so", func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, "default")
		return err == nil && slices.ContainsFunc(p.Status.Held, func(h api.HeldNode) bool { return h.NodeName == db && h.Reason == api.NodeBeingDeleted }), err
	})

	// A person has seen that it is off.
	must(t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+db).Body([]byte(
		`{"spec":{"requests":{"confirmOff":{"fenceNumber":1,"by":"lab-admin","at":"2026-01-01T00:00:00Z"}}}}`)).Do(w.ctx).Error())
	w.moved("db-0", db)
	w.oneWriter()
	w.words(db, "")

	// As a Machine controller does at its end.
	_, err = m.api.Patch(w.ctx, db, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, w.Kube.CoreV1().Nodes().Delete(w.ctx, db, metav1.DeleteOptions{}))
	w.ended(db, api.NodeGone)
	w.words(db, "")
}

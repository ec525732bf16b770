package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const recoverAccount = "system:serviceaccount:nodefence-system:nodefence-recover"

// owner is the owner of an object. If the owner does not exist, the garbage collector
// deletes the object.
func owner(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name, UID: uid}}
}

// heldBy are attempts to end a fence without the verbs abort and delete.
var heldBy = map[string]map[string]any{
	"the finalizer off":          {"finalizers": nil},
	"another in its place":       {"finalizers": []string{"example.com/other"}},
	"another beside it":          {"finalizers": []string{api.Finalizer, "example.com/other"}},
	"an owner that is not there": {"ownerReferences": owner("gone", "6a0c2f52-0000-4000-8000-000000000000")},
}

// TestNobodyEndsAFenceByItsMetadata: only recover, the gate and the garbage collector may
// write the finalizers and owners of a NodeFence; deletions and requests work as before
// (S20, S27).
func TestNobodyEndsAFenceByItsMetadata(t *testing.T) {
	w := newWorld(t, 1, quick)
	w.people()
	w.guarded()
	if r := w.open(gateAccount, "a"); r != (refusal{}) {
		t.Fatalf("the gate opens a record: %+v", r)
	}
	must(t, w.patchMeta("", "a", map[string]any{"finalizers": []string{api.Finalizer}}))
	for name, change := range heldBy {
		for _, who := range []string{"otto", "ada"} {
			if r := w.refused(w.patchMeta(who, "a", change)); r.code != 403 || !strings.Contains(r.says, "neither finalizers nor ownerReferences") {
				t.Errorf("%s, by %s: %+v", name, who, r)
			}
		}
	}

	aborted := map[string]any{"annotations": map[string]string{api.AbortedAnnotation: `{"nodeUID":"1"}`}}
	for _, who := range []string{"otto", "ada"} {
		if r := w.refused(w.patchMeta(who, "a", aborted)); r.code != 403 || !strings.Contains(r.says, "may not write "+api.AbortedAnnotation) {
			t.Errorf("what was aborted, by %s: %+v", who, r)
		}
	}
	must(t, w.patchMeta("", "a", aborted))

	for _, annotation := range []string{api.WithdrawnAnnotation, api.WithdrawnAskersAnnotation} {
		withdrawn := map[string]any{"annotations": map[string]string{annotation: "1"}}
		if r := w.refused(w.patchMeta("cara", "a", withdrawn)); r.code != 403 || !strings.Contains(r.says, "which say who asks for a fence no more") {
			t.Errorf("%s, by somebody who may not abort: %+v", annotation, r)
		}
		must(t, w.patchMeta("otto", "a", withdrawn))
	}

	// What people may do works as before: labels, and a request as kubectl edit sends it.
	must(t, w.patchMeta("otto", "a", map[string]any{"labels": map[string]string{"by": "otto"}}))
	if r := w.change("otto", "a", func(s *api.NodeFenceSpec) { s.Requests.Abort = aborts("otto") }); r != (refusal{}) {
		t.Errorf("a wish: %+v", r)
	}

	// The finalizer holds a deletion until recover removes it. In a foreground deletion the
	// garbage collector has a finalizer of its own, and removes that.
	must(t, w.deleteFence("ada", "a", metav1.DeletePropagationForeground))
	for name, change := range heldBy {
		if r := w.refused(w.patchMeta("otto", "a", change)); r == (refusal{}) {
			t.Errorf("%s while it is being deleted is taken", name)
		}
	}
	w.until("the garbage collector to take its finalizer off", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "a")
		return f != nil && f.DeletionTimestamp != nil && len(f.Finalizers) == 1 && f.Finalizers[0] == api.Finalizer, err
	})
	w.dropped("a")

	for n := 0; !w.leftBehind(fmt.Sprint("owned-", n)); n++ {
		if n == 20 {
			t.Fatal("the garbage collector took the owner off none of 20 records")
		}
	}
}

// leftBehind tells whether the garbage collector removes an owner from a record that outlives the
// owner. It can't if it does not know yet that the record has one.
func (w *world) leftBehind(node string) (left bool) {
	w.t.Helper()
	if r := w.open(gateAccount, node); r != (refusal{}) {
		w.t.Fatalf("the gate opens a record: %+v", r)
	}
	must(w.t, w.patchMeta("", node, map[string]any{"finalizers": []string{api.Finalizer}}))
	roles := w.Kube.RbacV1().ClusterRoles()
	cr, err := roles.Create(w.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	must(w.t, err)
	must(w.t, w.patchMeta("", node, map[string]any{"ownerReferences": owner(cr.Name, cr.UID)}))
	orphan := metav1.DeletePropagationOrphan
	must(w.t, roles.Delete(w.ctx, cr.Name, metav1.DeleteOptions{PropagationPolicy: &orphan}))
	w.until("the garbage collector to be done with the owner", func() (bool, error) {
		if _, err := roles.Get(w.ctx, cr.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return false, err
		}
		f, err := w.Fences.Fence(w.ctx, node)
		left = f != nil && len(f.OwnerReferences) == 0 && f.DeletionTimestamp == nil
		return true, err
	})
	return left
}

// patchMeta writes metadata of a record as that user, or as the administrator.
func (w *world) patchMeta(who, node string, change map[string]any) error {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": change})
	must(w.t, err)
	return w.restAs(who).Patch(types.MergePatchType).AbsPath(fencePath + node).Body(body).Do(w.ctx).Error()
}

const fencePath = "/apis/nodefence.io/v1alpha1/nodefences/"

func (w *world) deleteFence(who, node string, how metav1.DeletionPropagation) error {
	w.t.Helper()
	return w.restAs(who).Delete().AbsPath(fencePath + node).Body(&metav1.DeleteOptions{PropagationPolicy: &how}).Do(w.ctx).Error()
}

// restAs is the API server as that user sees it.
func (w *world) restAs(who string) rest.Interface {
	w.t.Helper()
	cfg := rest.CopyConfig(w.Config)
	cfg.Impersonate.UserName = who
	c, err := kubernetes.NewForConfig(cfg)
	must(w.t, err)
	return c.CoreV1().RESTClient()
}

// dropped is a deleted record from which recover removes the finalizer.
func (w *world) dropped(node string) {
	w.t.Helper()
	w.until("recover to let it go", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if f == nil || err != nil {
			return f == nil, err
		}
		_, err = w.as(recoverAccount).DropFinalizer(w.ctx, f)
		return false, err
	})
}

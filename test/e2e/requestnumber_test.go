package e2e

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAWordIsAboutOneFence: an approval of a node's first fence does nothing for its second
// fence, whether it is patched, applied from an old file, or written late without the admission
// policy. A client that waits for Succeeded waits for the open fence.
func TestAWordIsAboutOneFence(t *testing.T) {
	w := newWorld(t, 2, quick+"mode: RequireApproval\n")
	w.start(nil)
	const node = "node-1"

	w.node(node, "crash")
	w.waits(node, 1)
	must(t, w.patchWords(node, approval(1)))
	first := w.finished(node, 1)
	if !meta.IsStatusConditionTrue(first.Status.Conditions, api.ConditionSucceeded) {
		t.Errorf("the first fence has ended: %+v", first.Status.Conditions)
	}
	if a := first.Status.Answer(api.AskedApprove); a == nil || a.By != "lab-admin" {
		t.Errorf("nothing became of the approval: %+v", first.Status.Answers)
	}
	kept := fmt.Sprintf("apiVersion: nodefence.io/v1alpha1\nkind: NodeFence\nmetadata: {name: %s}\nspec: {nodeName: %s, requests: {approve: {fenceNumber: 1, by: lab-admin, at: %q}}}\n",
		node, node, "2026-01-01T00:00:01Z")

	w.node(node, "crash")
	w.waits(node, 2)
	const refused = "this is fence 2 of node-1; you approved fence 1"
	if err := w.patchWords(node, approval(1)); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("patched: %v", err)
	}
	if err := w.Apply(w.ctx, kept); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("applied from a file: %v", err)
	}
	first.Spec.Requests.Approve.At = metav1.Now()
	if _, err := w.replace("", first); !apierrors.IsConflict(err) {
		t.Errorf("written late: %v", err)
	}

	// The admission policy was deleted: the gate compares the number too.
	bindings := w.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	must(t, bindings.Delete(w.ctx, "nodefence-requests", metav1.DeleteOptions{}))
	w.until("a word about the first fence to be taken", func() (bool, error) {
		return w.patchWords(node, approval(1)) == nil, nil
	})
	w.until("it to be refused", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if err != nil {
			return false, err
		}
		a := f.Status.Answer(api.AskedApprove)
		return a != nil && a.Result == api.Refused && f.Status.Reason == api.WaitingForApproval, nil
	})
	w.words(node, "off on")
	must(t, w.patchWords(node, approval(2)))
	w.finished(node, 2)
	w.words(node, "off on off on")
	w.oneWriterIfAny()
}

// approval is an approval by the lab's administrator for the fence of this number.
func approval(number int) string {
	return fmt.Sprintf(`{"approve":{"fenceNumber":%d,"by":"lab-admin","at":"2026-01-01T00:00:00Z"}}`, number)
}

// patchWords sends a request about a fence.
func (w *world) patchWords(node, requests string) error {
	return w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/" + node).
		Body([]byte(`{"spec":{"requests":` + requests + `}}`)).Do(w.ctx).Error()
}

// waits waits until a node's fence of this number is held for a person. It must not have
// condition Succeeded since its opening, whatever the previous fence had.
func (w *world) waits(node string, number int64) {
	w.t.Helper()
	w.until(fmt.Sprintf("fence %d of %s to wait for a person", number, node), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if err != nil || f == nil || f.Status.FenceNumber != number {
			return false, nil
		}
		if meta.IsStatusConditionTrue(f.Status.Conditions, api.ConditionSucceeded) {
			return false, fmt.Errorf("fence %d is %s, and has succeeded", number, f.Status.Phase)
		}
		return f.Status.Reason == api.WaitingForApproval, nil
	})
}

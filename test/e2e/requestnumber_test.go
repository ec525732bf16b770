package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAWordIsAboutOneFence: an approval of a node's first fence does nothing for its
// second one, be it patched, applied from a file that somebody kept, or written late past
// the admission policy. And whoever waits for Succeeded waits for the fence that is open.
func TestAWordIsAboutOneFence(t *testing.T) {
	w := newWorld(t, 2, quick+"mode: RequireApproval\n")
	w.start(nil)
	const node = "node-1"
	succeeded := w.succeeded(node)

	w.node(node, "crash")
	w.waits(node, 1)
	must(t, w.patchWords(node, approval(1)))
	first := w.finished(node, 1)
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
	if _, err := w.Fences.SaveFence(w.ctx, first); w.refused(err).code != 409 {
		t.Errorf("written late: %v", err)
	}

	// Somebody has taken the admission policy away: the gate compares the number too.
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
		return a != nil && a.Result == api.Refused && f.Status.Reason == api.ApprovalHold, nil
	})
	w.words(node, "off on")
	must(t, w.patchWords(node, approval(2)))
	w.finished(node, 2)
	w.words(node, "off on off on")
	w.oneWriterIfAny()
	succeeded()
}

// approval is a word of the lab's administrator about a fence of this number.
func approval(number int) string {
	return fmt.Sprintf(`{"approve":{"fenceNumber":%d,"by":"lab-admin","at":"2026-01-01T00:00:00Z"}}`, number)
}

// patchWords asks something of a fence.
func (w *world) patchWords(node, requests string) error {
	return w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/" + node).
		Body([]byte(`{"spec":{"requests":` + requests + `}}`)).Do(w.ctx).Error()
}

// waits until a node's fence of this number is held for a person.
func (w *world) waits(node string, number int64) {
	w.t.Helper()
	w.until(fmt.Sprintf("fence %d of %s to wait for a person", number, node), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.FenceNumber == number && f.Status.Reason == api.ApprovalHold, nil
	})
}

// succeeded watches every version of a node's record. At the end it checks that condition
// Succeeded was true of no fence that was still open.
func (w *world) succeeded(node string) (check func()) {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	seen, err := dyn.Resource(api.GroupVersion.WithResource("nodefences")).Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + node})
	must(w.t, err)
	w.t.Cleanup(seen.Stop)
	ends := make(chan string, 1)
	go func() {
		wrong, after := "", map[int64]bool{}
		for e := range seen.ResultChan() {
			if u, ok := e.Object.(*unstructured.Unstructured); ok && e.Type != watch.Deleted {
				f := versionOf(watch.Event{Type: e.Type, Object: u}).fence
				is := meta.IsStatusConditionTrue(f.Status.Conditions, api.ConditionSucceeded)
				if is && f.Status.Phase != api.Finished {
					wrong = fmt.Sprintf("fence %d is %s, and has succeeded", f.Status.FenceNumber, f.Status.Phase)
				}
				after[f.Status.FenceNumber] = after[f.Status.FenceNumber] || is
				if after[2] {
					break
				}
			}
		}
		if wrong == "" && !(after[1] && after[2]) {
			wrong = fmt.Sprintf("of which fences it was seen: %v", after)
		}
		ends <- wrong
	}()
	return func() {
		w.t.Helper()
		if wrong := <-ends; wrong != "" {
			w.t.Error(wrong)
		}
	}
}

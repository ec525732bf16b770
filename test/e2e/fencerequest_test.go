package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAFenceRequestIsCarriedOut: the node of an object is fenced with proof, the object says so in
// the words of NodeHealthCheck, and goes when it is deleted. In a namespace that does not count
// nothing happens, and an Event says so (S20: Kubernetes says who may ask).
func TestAFenceRequestIsCarriedOut(t *testing.T) {
	w := newWorld(t, 3, quick)
	node := w.database(1)
	w.start(nil)
	other := "node-1"
	if other == node {
		other = "node-2"
	}
	elsewhere := w.admin("default", other, nil)
	absent := w.admin("nodefence-system", "nobody", nil)
	o := w.admin("nodefence-system", node+"-smoke", map[string]any{"nodeName": node, "reason": "smoke"})
	seen := w.follow(o, func(r *api.FenceRequest) bool { return meta.IsStatusConditionFalse(r.Status.Conditions, "Processing") })
	r := seen[len(seen)-1]
	transcribed(t, "testdata/fencerequest/conditions.txt", stood(seen))
	f := w.phase(node, api.Finished)
	a := f.Status.Decision.AskedBy[0]
	if a.ID != string(o.UID) || a.User != "FenceRequest nodefence-system/"+o.Name || a.Reason != "smoke" || f.Status.Decision.Trigger.Type != api.TriggerRequest {
		t.Errorf("asked for by %+v", a)
	}
	if want := (api.NodeFenceReference{Name: node, UID: f.UID, FenceNumber: 1}); r.Status.NodeFence != want {
		t.Errorf("answered by %+v, want %+v", r.Status.NodeFence, want)
	}
	w.moved("db-0", node)
	w.words(node, "off on")
	w.unmarked(node)
	w.oneWriter()
	w.deleted(o)

	if c := meta.FindStatusCondition(w.lastWord(absent).Status.Conditions, "Succeeded"); c.Reason != string(api.RemediationFinishedNodeNotFound) {
		t.Errorf("of a node that is not there: %+v", c)
	}
	if r := w.object(elsewhere); len(r.Finalizers) > 0 || len(r.Status.Conditions) > 0 {
		t.Errorf("in a namespace that does not count: %+v", r)
	}
	w.until("an Event to name the setting", func() (bool, error) {
		said, err := w.Kube.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(elsewhere.UID)})
		return err == nil && len(said.Items) == 1 && said.Items[0].Reason == "NamespaceDoesNotCount" && strings.Contains(said.Items[0].Message, "NODEFENCE_REQUEST_NAMESPACES (nodefence-system)"), err
	})
	w.words(other, "")
}

// TestAFenceRequestIsWithdrawn before a cut: the fence that waits for approval ends, and no device
// is called (S17: a fence whose reason is gone is called off). An object that NodeHealthCheck gave
// up stays, and says so.
func TestAFenceRequestIsWithdrawn(t *testing.T) {
	w := newWorld(t, 3, quick+"mode: RequireApproval\n")
	w.start(nil)
	one, two := w.admin("nodefence-system", "node-1", nil), w.admin("nodefence-system", "node-2", nil)
	for _, o := range []*api.FenceRequest{one, two} {
		w.until("the fence of "+o.Name+" to wait for approval", func() (bool, error) {
			f, err := w.Fences.Fence(w.ctx, o.Name)
			return f != nil && f.Status.Reason == api.WaitingForApproval, err
		})
	}
	w.until("the object to say what it waits for", func() (bool, error) {
		c := meta.FindStatusCondition(w.object(one).Status.Conditions, "Processing")
		return c != nil && strings.HasPrefix(c.Message, "Pending, WaitingForApproval: "), nil
	})
	w.printsMessage(one, "Pending, WaitingForApproval: ")
	must(t, w.fenceRequests("").Delete(w.ctx, one.Name, metav1.DeleteOptions{}))
	_, err := w.fenceRequests("").Patch(w.ctx, two.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"remediation.medik8s.io/nhc-timed-out":"now"}}}`), metav1.PatchOptions{})
	must(t, err)
	w.gone(one)
	if c := meta.FindStatusCondition(w.lastWord(two).Status.Conditions, "Succeeded"); c.Reason != string(api.RemediationInterruptedByNHC) {
		t.Errorf("given up: %+v", c)
	}
	for node, why := range map[string]string{"node-1": "FenceRequest nodefence-system/node-1 was deleted", "node-2": "FenceRequest nodefence-system/node-2 was given up by NodeHealthCheck"} {
		f := w.ended(node, api.Aborted)
		if abort := f.Spec.Requests.Abort; abort == nil || abort.Reason != why || abort.By == "" {
			t.Errorf("%s was aborted by %+v", node, abort)
		}
		w.words(node, "")
		w.unmarked(node)
	}
	w.deleted(two)
}

// printsMessage: kubectl get freq -o wide says in its column MESSAGE what an object waits for.
func (w *world) printsMessage(o *api.FenceRequest, begins string) {
	w.t.Helper()
	table := w.table("namespaces/" + o.Namespace + "/fencerequests/" + o.Name)
	at := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == "MESSAGE" })
	if at < 0 || !strings.HasPrefix(fmt.Sprint(table.Rows[0].Cells[at]), begins) {
		w.t.Errorf("of %s it prints %v, want a MESSAGE that begins with %q", o.Name, table.Rows[0].Cells, begins)
	}
}

// admin creates a FenceRequest as an administrator.
func (w *world) admin(namespace, name string, spec map[string]any) *api.FenceRequest {
	w.t.Helper()
	object := map[string]any{"apiVersion": api.GroupVersion.String(), "kind": "FenceRequest", "metadata": map[string]any{"name": name, "namespace": namespace}}
	if spec != nil {
		object["spec"] = spec
	}
	made, err := w.fenceRequestsIn("", namespace).Create(w.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	must(w.t, err)
	return w.typed(made)
}

func (w *world) typed(u *unstructured.Unstructured) *api.FenceRequest {
	w.t.Helper()
	r := new(api.FenceRequest)
	must(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, r))
	return r
}

func (w *world) object(o *api.FenceRequest) *api.FenceRequest {
	w.t.Helper()
	r, err := w.Fences.FenceRequest(w.ctx, o.Namespace, o.Name)
	must(w.t, err)
	if r == nil || r.UID != o.UID {
		w.t.Fatalf("FenceRequest %s/%s is gone", o.Namespace, o.Name)
	}
	return r
}

// follow watches an object from its creation until it is as wanted, and returns all that it was.
func (w *world) follow(o *api.FenceRequest, until func(*api.FenceRequest) bool) []*api.FenceRequest {
	w.t.Helper()
	watch, err := w.fenceRequestsIn("", o.Namespace).Watch(w.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + o.Name, ResourceVersion: o.ResourceVersion})
	must(w.t, err)
	defer watch.Stop()
	seen := []*api.FenceRequest{o}
	for e := range watch.ResultChan() {
		u, is := e.Object.(*unstructured.Unstructured)
		if !is {
			w.t.Fatalf("the watch says %+v", e)
		}
		if seen = append(seen, w.typed(u)); until(seen[len(seen)-1]) {
			return seen
		}
	}
	w.t.Fatalf("the watch of %s has ended: it stood at %s", o.Name, stood(seen))
	return nil
}

// stood are the conditions that an object had, one after the other.
func stood(seen []*api.FenceRequest) (all []string) {
	for _, r := range seen {
		if len(r.Status.Conditions) > 0 {
			all = append(all, words(r.Status.Conditions, "Processing", "FenceActionSucceeded", "Succeeded"))
		}
	}
	return slices.Compact(all)
}

// lastWord waits for an object's last word.
func (w *world) lastWord(o *api.FenceRequest) (r *api.FenceRequest) {
	w.t.Helper()
	w.until(fmt.Sprintf("FenceRequest %s to have its last word", o.Name), func() (bool, error) {
		r = w.object(o)
		return meta.IsStatusConditionFalse(r.Status.Conditions, "Processing"), nil
	})
	return r
}

// deleted deletes an object, and waits until it is gone.
func (w *world) deleted(o *api.FenceRequest) {
	w.t.Helper()
	must(w.t, w.fenceRequestsIn("", o.Namespace).Delete(w.ctx, o.Name, metav1.DeleteOptions{}))
	w.gone(o)
}

func (w *world) gone(o *api.FenceRequest) {
	w.t.Helper()
	w.until("FenceRequest "+o.Name+" to be gone", func() (bool, error) {
		r, err := w.Fences.FenceRequest(w.ctx, o.Namespace, o.Name)
		return r == nil, err
	})
}

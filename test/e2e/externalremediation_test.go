package e2e

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/test/rig"
)

// TestExternalRemediation: a FenceRequest as Cluster API's MachineHealthCheck makes it from a
// FenceRequestTemplate, with the name of the Machine that owns it, fences the node that the Machine has.
// Once that is proven, and the machine stays off, the Machine is handed back to its owner. Who may ask for
// the fence of one node can't ask in this way, neither at once nor later (S20: Kubernetes says who may ask).
func TestExternalRemediation(t *testing.T) {
	w := newWorld(t, 3, quick+"action: PowerOff\n")
	db := w.database(1)
	other := map[string]string{"node-0": "node-1"}[db]
	if other == "" {
		other = "node-0"
	}
	c := w.healthChecks("v1beta2.yaml", "cluster.x-k8s.io/v1beta2", "clusters")
	must(t, w.Apply(w.ctx, `{apiVersion: nodefence.io/v1alpha1, kind: FencePolicy, metadata: {name: mine}, spec: {selector: {}, mode: Enforce, action: PowerOff, power: {retryInterval: 1s}}}`))
	_, err := w.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}, metav1.CreateOptions{})
	must(t, err)
	machines := w.capiMachines("v1beta2", "clusters")
	// The Machine of the node that is fenced has the name of another node, which stays as it is.
	_, err = machines.Patch(w.ctx, other, types.MergePatchType, []byte(`{"status":{"nodeRef":{"name":"`+db+`"}}}`), metav1.PatchOptions{}, "status")
	must(t, err)
	w.ofMachine(db, "clusters", other)
	m, err := machines.Get(w.ctx, other, metav1.GetOptions{})
	must(t, err)
	object := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": api.GroupVersion.String(), "kind": "FenceRequest", "metadata": map[string]any{
			"name": name, "namespace": "clusters", "ownerReferences": []any{map[string]any{"apiVersion": c.apiVersion, "kind": "Machine", "name": other, "uid": string(m.GetUID())}}}}}
	}
	must(t, w.Apply(w.ctx, strings.ReplaceAll(strings.ReplaceAll(authors, "nodefence-system", "clusters"), "worker-7,", other+","))) // ada may ask for the fence of that one by its name
	w.allowed("ada", "fence", other)
	ada := w.fenceRequestsIn("ada", "clusters")
	w.until("a forged one to be refused", func() (bool, error) {
		_, err := ada.Create(w.ctx, object(other), metav1.CreateOptions{})
		return err != nil && strings.Contains(err.Error(), "it needs the verb fence on all nodefences"), nil
	})
	own := object(other)
	own.SetOwnerReferences(nil)
	_, err = ada.Create(w.ctx, own, metav1.CreateOptions{}) // nothing is done yet: nodefence does not run
	must(t, err)
	_, err = ada.Patch(w.ctx, other, types.MergePatchType, []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"`+c.apiVersion+`","kind":"Machine","name":"`+other+`","uid":"`+string(m.GetUID())+`"}]}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "an owner of kind Machine is not added or taken away") {
		t.Errorf("an owner that is added: %v", err)
	}
	must(t, w.fenceRequestsIn("", "clusters").Delete(w.ctx, other, metav1.DeleteOptions{}))
	_, err = w.fenceRequestsIn("", "clusters").Create(w.ctx, object(other), metav1.CreateOptions{})
	must(t, err)
	for what, owners := range map[string]string{
		"another Machine":     `{"apiVersion":"` + c.apiVersion + `","kind":"Machine","name":"` + other + `","uid":"of-another"}`,
		"a second Machine":    `{"apiVersion":"` + c.apiVersion + `","kind":"Machine","name":"` + other + `","uid":"of-another"},{"apiVersion":"` + c.apiVersion + `","kind":"Machine","name":"` + other + `","uid":"` + string(m.GetUID()) + `"}`,
		"a Machine elsewhere": `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":"` + other + `","uid":"` + string(m.GetUID()) + `"}`,
	} {
		_, err = ada.Patch(w.ctx, other, types.MergePatchType, []byte(`{"metadata":{"ownerReferences":[`+owners+`]}}`), metav1.PatchOptions{})
		if err == nil || !strings.Contains(err.Error(), "nor another put in its place") {
			t.Errorf("%s as owner: %v", what, err)
		}
	}
	must(t, w.fenceRequestsIn("", "clusters").Delete(w.ctx, other, metav1.DeleteOptions{}))

	w.start(func(o *local.Options) { o.Settings.RequestNamespaces = ask.Namespaces{"clusters"} })
	made, err := w.fenceRequestsIn("", "clusters").Create(w.ctx, object(other), metav1.CreateOptions{})
	must(t, err)
	seen := w.follow(w.typed(made), func(r *api.FenceRequest) bool { return meta.IsStatusConditionFalse(r.Status.Conditions, "Processing") })
	r := seen[len(seen)-1]
	if is := meta.FindStatusCondition(r.Status.Conditions, "Succeeded"); is.Status != metav1.ConditionTrue || r.Status.NodeFence.Name != db {
		t.Errorf("%+v, about %s, want %s", is, r.Status.NodeFence.Name, db)
	}
	w.moved("db-0", db)
	w.oneWriter()
	w.words(db, "off")
	w.words(other, "")
	m, err = machines.Get(w.ctx, other, metav1.GetOptions{})
	must(t, err)
	conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
	lines := stood(seen)
	for _, is := range conditions {
		is := is.(map[string]any)
		lines = append(lines, fmt.Sprint("then its Machine: ", is["type"], " ", is["status"], " ", is["reason"]))
	}
	transcribed(t, "testdata/fencerequest/external.txt", lines)
	w.deleted(r)

	// The account of the function request may read and write this, with the component's rights.
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, root+"/infra/knative/components/machinehealthcheck/rights.yaml"))
	for _, may := range []authorizationv1.ResourceAttributes{
		{Group: "cluster.x-k8s.io", Resource: "machines", Verb: "get", Namespace: "clusters"},
		{Group: "cluster.x-k8s.io", Resource: "machines", Subresource: "status", Verb: "patch", Namespace: "clusters"},
		{Group: "machine.openshift.io", Resource: "machines", Verb: "get", Namespace: "clusters"},
		{Resource: "nodes", Verb: "get"},
	} {
		w.review("system:serviceaccount:nodefence-system:nodefence-request", may)
	}
}

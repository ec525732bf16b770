package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// refusals are admission policies of somebody else's: one refuses the taint on node-0, the other
// one every write of node-1's record.
const refusals = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-taints}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: [UPDATE], resources: [nodes]}]}
  validations:
    - expression: "object.metadata.name != 'node-0' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == '` + api.IsolationTaint + `')"
      message: taints are the platform team's
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-taints}
spec: {policyName: no-taints, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-records}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [nodefence.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [nodefences, nodefences/status]}]}
  validations:
    - expression: "object.metadata.name != 'node-1'"
      message: records are frozen
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-records}
spec: {policyName: no-records, validationActions: [Deny]}
`

// TestARefusedWriteIsTold: while an admission policy refuses the taint of a fence, its record says
// so, and while it refuses the record, an Event on the Node does. kubectl fence why reads both.
// Nothing is switched meanwhile, and both fences end once nothing is refused (S22, S28).
func TestARefusedWriteIsTold(t *testing.T) {
	w := newWorld(t, 6, patient)
	must(t, w.Apply(w.ctx, refusals))
	w.until("the admission policies to hold", func() (bool, error) {
		_, err := w.Fences.CreateFence(w.ctx, &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: api.NodeFenceSpec{NodeName: "node-1"}})
		if err == nil {
			return false, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/nodefences/node-1").Do(w.ctx).Error()
		}
		return strings.Contains(err.Error(), "records are frozen"), nil
	})
	w.start(nil)
	w.node("node-0", "crash")
	w.node("node-1", "crash")
	why := func(node, words string) func() (bool, error) {
		return func() (bool, error) {
			s := view.Seen{Now: w.Fences.Clock().Now()}
			var err error
			if s.Nodes, err = w.Fences.Nodes(w.ctx); err != nil {
				return false, err
			}
			if s.Fences, err = w.Fences.Fences(w.ctx); err != nil {
				return false, err
			}
			if s.Policies, err = w.Fences.Policies(w.ctx); err != nil {
				return false, err
			}
			if s.Events, err = w.Fences.NodeEvents(w.ctx, node); err != nil {
				return false, err
			}
			a, err := s.Why(node)
			return strings.Contains(a.What, words) && strings.HasPrefix(a.Do, "mend what refuses nodefence"), err
		}
	}
	w.until("the record of node-0 to say what refuses its taint", why("node-0", "taints are the platform team's"))
	w.until("an Event of node-1 to say what refuses its record", why("node-1", "records are frozen"))
	w.words("node-0", "")
	w.words("node-1", "")
	events, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{FieldSelector: "reason=" + string(api.RecordNotSaved)})
	must(t, err)
	if n := len(events.Items); n < 1 || n > 4 { // one in five minutes of each function, however often it tries
		t.Errorf("%d Events: %+v", n, events.Items)
	}
	for _, name := range []string{"no-taints", "no-records"} {
		must(t, w.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(w.ctx, name, metav1.DeleteOptions{}))
	}
	for _, node := range []string{"node-0", "node-1"} {
		if f := w.ended(node, api.Recovered); f.Status.LastError != nil {
			t.Errorf("%s: %+v", node, f.Status.LastError)
		}
		must(t, w.Ready(w.ctx, node, corev1.ConditionTrue))
	}
}

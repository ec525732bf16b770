package e2e

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// authors may all create FenceRequests. Ada may also ask for the fence of some nodes, and bob of
// none.
const authors = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: authors}
rules: [{apiGroups: [nodefence.io], resources: [fencerequests], verbs: [get, create, update, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: authors, namespace: nodefence-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: authors}
subjects: [{kind: User, name: ada}, {kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: some-nodes}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], resourceNames: [worker-7, worker-7-b, ` + longNode + `], verbs: [fence]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: some-nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some-nodes}
subjects: [{kind: User, name: ada}]
`

// longNode is a node's name that generateName cuts off.
const longNode = "ip-10-100-200-111.eu-central-1.compute.internal.example.com-pool-a"

// writes are FenceRequests that people create, and what the API server says.
var writes = map[string]struct {
	who, name, generate, noted string
	spec                       map[string]any
	refused                    refusal
}{
	"by the node's own name":      {who: "ada", name: "worker-7"},
	"by spec.nodeName":            {who: "ada", name: "worker-7-smoke", spec: map[string]any{"nodeName": "worker-7", "reason": "smoke"}},
	"by the annotation":           {who: "ada", name: "worker-7-health", noted: "worker-7"},
	"by both":                     {who: "ada", name: "worker-7-both", noted: "worker-7", spec: map[string]any{"nodeName": "worker-7"}},
	"with a generated name":       {who: "ada", generate: "worker-7-", spec: map[string]any{"nodeName": "worker-7"}},
	"with a name that is cut off": {who: "ada", generate: longNode + "-", noted: longNode},
	"in her own name":             {who: "ada", name: "worker-7-own", spec: map[string]any{"nodeName": "worker-7", "requestedBy": "ada"}},
	"without the verb":            {who: "bob", name: "worker-7-bob", noted: "worker-7", refused: refusal{403, "you may not ask for the fence of worker-7: it needs the verb fence on nodefences"}},
	"without the verb, by the object's name": {
		who: "bob", name: "worker-7-b", refused: refusal{403, "you may not ask for the fence of worker-7-b: it needs the verb fence on nodefences"}},
	"of another node than the verb is for": {who: "ada", name: "worker-8", refused: refusal{403, "you may not ask for the fence of worker-8"}},
	"of one node by two names": {
		who: "ada", name: "worker-7-two", noted: "worker-7", spec: map[string]any{"nodeName": "worker-7-b"}, refused: refusal{422, "they must name one node"}},
	"a copy whose own name was forgotten": {
		who: "ada", name: "worker-8-smoke", spec: map[string]any{"nodeName": "worker-7"}, refused: refusal{422, "the node is worker-7, and this object is named worker-8-smoke: name it like the node, or begin its name with worker-7-"}},
	"a name that only begins alike": {
		who: "ada", name: "worker-77", noted: "worker-7", refused: refusal{422, "the node is worker-7, and this object is named worker-77"}},
	"in the name of another": {
		who: "ada", name: "worker-7-as", spec: map[string]any{"nodeName": "worker-7", "requestedBy": "bob"}, refused: refusal{422, "spec.requestedBy must be your own name, ada, or left out"}},
}

// TestFenceRequestsAreHeldToTheirAuthors: by the admission policy of infra/crd nobody may ask for
// the fence of a node without the verb fence for it, or in another's name, and the names of the
// object agree (S20: Kubernetes says who may ask).
func TestFenceRequestsAreHeldToTheirAuthors(t *testing.T) {
	w := newWorld(t, 1, quick)
	must(t, w.Apply(w.ctx, authors))
	w.allowed("ada", "fence", "worker-7")
	w.review("bob", authorizationv1.ResourceAttributes{Group: api.GroupVersion.Group, Resource: "fencerequests", Verb: "create", Namespace: "nodefence-system"})
	w.until("the admission policy to hold", func() (bool, error) {
		_, err := w.createRequest("bob", "probe", "", "", nil)
		return strings.Contains(w.refused(err).says, "it needs the verb fence"), nil
	})
	for name, c := range writes {
		t.Run(name, func(t *testing.T) {
			made, err := w.createRequest(c.who, c.name, c.generate, c.noted, c.spec)
			got := w.refused(err)
			if got.code != c.refused.code || !strings.Contains(got.says, c.refused.says) {
				t.Errorf("got %+v, want %+v", got, c.refused)
			}
			if err == nil && c.generate != "" && len(made.GetName()) > 63 {
				t.Errorf("the API server made the name %s", made.GetName())
			}
		})
	}
	t.Run("later", func(t *testing.T) { w.changesLater(t) })
}

// changesLater tries what becomes of an object that was created.
func (w *world) changesLater(t *testing.T) {
	for name, c := range map[string]struct{ who, patch, says string }{
		"a label, without the verb":   {"bob", `{"metadata":{"labels":{"a":"b"}}}`, ""},
		"the node by its annotation":  {"ada", `{"metadata":{"annotations":{"remediation.medik8s.io/node-name":"worker-7-b"}}}`, "the annotation remediation.medik8s.io/node-name does not change"},
		"no annotation any more":      {"ada", `{"metadata":{"annotations":null}}`, "the annotation remediation.medik8s.io/node-name does not change"},
		"the node by its spec":        {"ada", `{"spec":{"nodeName":"worker-7"}}`, "spec does not change: create another FenceRequest"},
		"the same node, without spec": {"ada", `{"spec":null}`, ""},
		"that it took too long":       {"bob", `{"metadata":{"annotations":{"remediation.medik8s.io/nhc-timed-out":"now"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.fenceRequests(c.who).Patch(w.ctx, "worker-7-health", types.MergePatchType, []byte(c.patch), metav1.PatchOptions{})
			if got := w.refused(err); (got.says == "") != (c.says == "") || !strings.Contains(got.says, c.says) {
				t.Errorf("got %+v, want %q", got, c.says)
			}
		})
	}
}

// createRequest creates a FenceRequest as that user.
func (w *world) createRequest(who, name, generate, noted string, spec map[string]any) (*unstructured.Unstructured, error) {
	w.t.Helper()
	meta := map[string]any{"name": name, "generateName": generate}
	if noted != "" {
		meta["annotations"] = map[string]any{api.NodeNameAnnotation: noted}
	}
	object := map[string]any{"apiVersion": api.GroupVersion.String(), "kind": "FenceRequest", "metadata": meta}
	if spec != nil {
		object["spec"] = spec
	}
	return w.fenceRequests(who).Create(w.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
}

func (w *world) fenceRequests(who string) dynamic.ResourceInterface {
	w.t.Helper()
	return w.fenceRequestsIn(who, "nodefence-system")
}

func (w *world) fenceRequestsIn(who, namespace string) dynamic.ResourceInterface {
	w.t.Helper()
	c, err := dynamic.NewForConfig(w.config(who))
	must(w.t, err)
	return c.Resource(api.GroupVersion.WithResource("fencerequests")).Namespace(namespace)
}

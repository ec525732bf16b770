package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// people may all write NodeFences, and all of them. Beyond that anna may ask for everything, ben
// for nothing, cleo abort and retry, and dan only abort the fence of one node.
const people = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: write}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], verbs: [get, create, update, decide]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ask}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], verbs: [abort, approve, retry, uncordon, confirm]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: abort-and-retry}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], verbs: [abort, retry]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: abort-one}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], resourceNames: [dans], verbs: [abort]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: write}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: write}
subjects: [{kind: User, name: anna}, {kind: User, name: ben}, {kind: User, name: cleo}, {kind: User, name: dan}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: anna}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ask}
subjects: [{kind: User, name: anna}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cleo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: abort-and-retry}
subjects: [{kind: User, name: cleo}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dan}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: abort-one}
subjects: [{kind: User, name: dan}]
`

func wish(by string) *api.Request {
	return &api.Request{By: by, At: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
}

func because(r *api.Request, reason string) *api.Request {
	r.Reason = reason
	return r
}

// asks are what people try. Before, if set, is what anna has asked for already;
// without it the record is created with the wish.
var asks = map[string]struct {
	who, node      string
	before, wanted *api.Requests
	refused        refusal
}{
	"a record without wishes needs no verb": {who: "ben", wanted: &api.Requests{}},
	"a record with a wish to abort does":    {who: "ben", wanted: &api.Requests{Abort: wish("ben")}, refused: refusal{403, "it needs the verb abort on nodefences"}},
	"with the verb one may":                 {who: "cleo", wanted: &api.Requests{Abort: wish("cleo"), Retry: wish("cleo")}},
	"in nobody else's name":                 {who: "cleo", wanted: &api.Requests{Abort: wish("anna")}, refused: refusal{422, "spec.requests.abort.by must be your own name, cleo"}},
	"one verb is not another":               {who: "cleo", wanted: &api.Requests{Abort: wish("cleo"), ConfirmOff: &api.Confirmation{Request: *wish("cleo")}}, refused: refusal{403, "it needs the verb confirm on nodefences"}},
	"nor is a confirmation in another's name": {
		who: "anna", wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *wish("cleo")}}, refused: refusal{422, "spec.requests.confirmOff.by must be your own name, anna"}},
	"a verb on one node":                {who: "dan", node: "dans", wanted: &api.Requests{Abort: wish("dan")}},
	"a verb on one node is on no other": {who: "dan", wanted: &api.Requests{Abort: wish("dan")}, refused: refusal{403, "it needs the verb abort on nodefences"}},

	"a wish is added by who has the verb": {who: "cleo", before: &api.Requests{}, wanted: &api.Requests{Retry: wish("cleo")}},
	"and by nobody else":                  {who: "ben", before: &api.Requests{}, wanted: &api.Requests{Retry: wish("ben")}, refused: refusal{403, "it needs the verb retry on nodefences"}},
	"nor in a name that is another's": {
		who: "cleo", before: &api.Requests{}, wanted: &api.Requests{Retry: wish("anna")}, refused: refusal{422, "spec.requests.retry.by must be your own name, cleo"}},
	"an approval is added by who has the verb":    {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Approve: wish("anna")}},
	"an approval is added by nobody else":         {who: "cleo", before: &api.Requests{}, wanted: &api.Requests{Approve: wish("cleo")}, refused: refusal{403, "it needs the verb approve on nodefences"}},
	"an approval in a name that is another's":     {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Approve: wish("ben")}, refused: refusal{422, "spec.requests.approve.by must be your own name, anna"}},
	"an uncordon is added by who has the verb":    {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Uncordon: wish("anna")}},
	"an uncordon is added by nobody else":         {who: "cleo", before: &api.Requests{}, wanted: &api.Requests{Uncordon: wish("cleo")}, refused: refusal{403, "it needs the verb uncordon on nodefences"}},
	"an uncordon in a name that is another's":     {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Uncordon: wish("ben")}, refused: refusal{422, "spec.requests.uncordon.by must be your own name, anna"}},
	"a confirmation is added by who has the verb": {who: "anna", before: &api.Requests{}, wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *wish("anna")}}},
	"a confirmation is added by nobody else":      {who: "cleo", before: &api.Requests{}, wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *wish("cleo")}}, refused: refusal{403, "it needs the verb confirm on nodefences"}},
	"old wishes that stay as they are need no verb": {
		who: "ben", before: &api.Requests{Abort: wish("anna"), Approve: wish("anna"), Retry: wish("anna"), Uncordon: wish("anna"), ConfirmOff: &api.Confirmation{Request: *wish("anna")}},
		wanted: &api.Requests{Abort: wish("anna"), Approve: wish("anna"), Retry: wish("anna"), Uncordon: wish("anna"), ConfirmOff: &api.Confirmation{Request: *wish("anna")}}},
	"a new wish beside an old one does": {
		who: "ben", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{Abort: wish("anna"), Retry: wish("ben")}, refused: refusal{403, "it needs the verb retry on nodefences"}},
	"another's words are not changed": {
		who: "cleo", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{Abort: because(wish("anna"), "changed")}, refused: refusal{422, "spec.requests.abort.by must be your own name, cleo"}},
	"one's own are": {who: "anna", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{Abort: because(wish("anna"), "changed")}},
	"a wish takes another's place with the verb":                     {who: "cleo", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{Abort: wish("cleo")}},
	"a wish takes no other's place without the verb":                 {who: "ben", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{Abort: wish("ben")}, refused: refusal{403, "it needs the verb abort on nodefences"}},
	"a wish is withdrawn by who may write":                           {who: "ben", before: &api.Requests{Abort: wish("anna"), Retry: wish("anna")}, wanted: &api.Requests{Retry: wish("anna")}},
	"all wishes are, as the gate does when it opens the record anew": {who: "ben", before: &api.Requests{Abort: wish("anna")}, wanted: &api.Requests{}},
}

// TestRequestsAreHeldToTheirAuthors: the admission policy of infra/crd lets
// nobody ask without the verb, or in another's name (S20).
func TestRequestsAreHeldToTheirAuthors(t *testing.T) {
	w := newWorld(t, 1, quick)
	must(t, w.Apply(w.ctx, people))
	// The last of the roles, and the last of the bindings: the API server learns them in order.
	w.allowed("dan", "abort", "dans")
	w.until("the admission policy to hold", func() (bool, error) {
		return strings.Contains(w.ask("ben", "probe", nil, &api.Requests{Abort: wish("ben")}).says, "needs the verb abort"), nil
	})
	nodes := 0
	for name, c := range asks {
		if nodes++; c.node == "" {
			c.node = fmt.Sprintf("n-%d", nodes)
		}
		t.Run(name, func(t *testing.T) {
			got := w.ask(c.who, c.node, c.before, c.wanted)
			if got.code != c.refused.code || !strings.Contains(got.says, c.refused.says) {
				t.Errorf("got %+v, want %+v", got, c.refused)
			}
			want := c.wanted
			if c.refused.code != 0 {
				want = c.before
			}
			f, err := w.Fences.Fence(w.ctx, c.node)
			must(t, err)
			switch {
			case want == nil || f == nil:
				if (want == nil) != (f == nil) {
					t.Errorf("a record: %v, want %v", f, want)
				}
			default:
				if d := cmp.Diff(*want, f.Spec.Requests); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// allowed waits until the API server knows that a user may do this with a NodeFence.
func (w *world) allowed(user, verb, name string) {
	w.t.Helper()
	w.review(user, authorizationv1.ResourceAttributes{Group: api.GroupVersion.Group, Resource: "nodefences", Verb: verb, Name: name})
}

// review waits until the API server knows of a right: it learns of roles and bindings
// a moment after they are written.
func (w *world) review(user string, right authorizationv1.ResourceAttributes) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s to be known to have the right to %s %s", user, right.Verb, right.Resource), func() (bool, error) {
		return w.reviewed(user, right)
	})
}

func (w *world) reviewed(user string, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
	r, err := w.Kube.AuthorizationV1().SubjectAccessReviews().Create(w.ctx, review, metav1.CreateOptions{})
	return err == nil && r.Status.Allowed, err
}

// may tells whether a user may do that to a NodeFence now.
func (w *world) may(user, verb, name string) bool {
	w.t.Helper()
	ok, err := w.reviewed(user, authorizationv1.ResourceAttributes{Group: api.GroupVersion.Group, Resource: "nodefences", Verb: verb, Name: name})
	must(w.t, err)
	return ok
}

// refusal is what the API server says; empty if it takes the write.
type refusal struct {
	code int32
	says string
}

// ask writes the record as that user, after anna if she has asked before.
func (w *world) ask(who, node string, before, wanted *api.Requests) refusal {
	w.t.Helper()
	f, write := w.record(node), w.as(who).CreateFence
	if before != nil {
		f.Spec.Requests = *before
		made, err := w.as("anna").CreateFence(w.ctx, f)
		must(w.t, err)
		f = made
		write = w.as(who).SaveFence
	}
	f.Spec.Requests = *wanted
	_, err := write(w.ctx, f)
	return w.refused(err)
}

// record is a node's first one, as the gate opens it.
func (w *world) record(node string) *api.NodeFence {
	w.t.Helper()
	policies, err := w.Fences.Policies(w.ctx)
	must(w.t, err)
	policy, _ := fence.ResolvePolicy(policies, node, nil)
	return &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: 1, Decision: api.Decision{NodeUID: "1", Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: metav1.NewMicroTime(time.Now())},
		ResolvedPolicy: policy,
	}}}
}

// refused is what the API server's no says.
func (w *world) refused(err error) refusal {
	w.t.Helper()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return refusal{status.Status().Code, status.Status().Message}
	}
	must(w.t, err)
	return refusal{}
}

// as is the API server as that user sees it.
func (w *world) as(user string) *kube.Client {
	w.t.Helper()
	cfg := rest.CopyConfig(w.Config)
	cfg.Impersonate.UserName = user
	c, err := kube.New(cfg)
	must(w.t, err)
	return c
}

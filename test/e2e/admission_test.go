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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// people may all write all NodeFences. In addition anna may make every request, ben none, cleo may
// abort and retry, and dan may abort only the fence of one node.
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

// thisFence is the number of each fence to which people make requests.
const thisFence = 4

func wish(by string) *api.Request { return about(thisFence, by) }

func about(number int64, by string) *api.Request {
	return &api.Request{FenceNumber: number, By: by, At: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
}

// aborts is a request to abort, which need not name its fence.
func aborts(by string, number ...int64) *api.AbortRequest {
	a := &api.AbortRequest{By: by, At: wish(by).At}
	for _, n := range number {
		a.FenceNumber = &n
	}
	return a
}

func because(r *api.AbortRequest, reason string) *api.AbortRequest {
	r.Reason = reason
	return r
}

// asks are what people try. Before, if set, is what anna has asked for already;
// without it the record is created with the request.
var asks = map[string]struct {
	who, node      string
	before, wanted *api.Requests
	over           bool // the fence is closed
	refused        refusal
}{
	"a record without wishes needs no verb": {who: "ben", wanted: &api.Requests{}},
	"a record with a wish to abort does":    {who: "ben", wanted: &api.Requests{Abort: aborts("ben")}, refused: refusal{403, "it needs the verb abort on nodefences"}},
	"with the verb one may":                 {who: "cleo", wanted: &api.Requests{Abort: aborts("cleo")}},
	"before there is a fence nothing can be asked of it": {who: "cleo", node: "new", wanted: &api.Requests{Retry: wish("cleo")},
		refused: refusal{422, "no fence of new was opened yet: there is nothing to retry"}},
	"in nobody else's name":   {who: "cleo", wanted: &api.Requests{Abort: aborts("anna")}, refused: refusal{422, "spec.requests.abort.by must be your own name, cleo"}},
	"one verb is not another": {who: "cleo", wanted: &api.Requests{Abort: aborts("cleo"), ConfirmOff: &api.Confirmation{Request: *wish("cleo")}}, refused: refusal{403, "it needs the verb confirm on nodefences"}},
	"nor is a confirmation in another's name": {
		who: "anna", wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *wish("cleo")}}, refused: refusal{422, "spec.requests.confirmOff.by must be your own name, anna"}},
	"a verb on one node":                {who: "dan", node: "dans", wanted: &api.Requests{Abort: aborts("dan")}},
	"a verb on one node is on no other": {who: "dan", wanted: &api.Requests{Abort: aborts("dan")}, refused: refusal{403, "it needs the verb abort on nodefences"}},

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
		who: "ben", before: &api.Requests{Abort: aborts("anna"), Approve: wish("anna"), Retry: wish("anna"), Uncordon: wish("anna"), ConfirmOff: &api.Confirmation{Request: *wish("anna")}},
		wanted: &api.Requests{Abort: aborts("anna"), Approve: wish("anna"), Retry: wish("anna"), Uncordon: wish("anna"), ConfirmOff: &api.Confirmation{Request: *wish("anna")}}},
	"a new wish beside an old one does": {
		who: "ben", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{Abort: aborts("anna"), Retry: wish("ben")}, refused: refusal{403, "it needs the verb retry on nodefences"}},
	"another's words are not changed": {
		who: "cleo", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{Abort: because(aborts("anna"), "changed")}, refused: refusal{422, "spec.requests.abort.by must be your own name, cleo"}},
	"one's own are": {who: "anna", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{Abort: because(aborts("anna"), "changed")}},
	"an approval of another fence": {who: "anna", node: "approved", before: &api.Requests{}, wanted: &api.Requests{Approve: about(3, "anna")},
		refused: refusal{422, "this is fence 4 of approved; you approved fence 3 (spec.requests.approve.fenceNumber)"}},
	"a confirmation of another fence": {who: "anna", node: "confirmed", before: &api.Requests{}, wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *about(3, "anna")}},
		refused: refusal{422, "this is fence 4 of confirmed; you confirmed fence 3 (spec.requests.confirmOff.fenceNumber)"}},
	"a retry of a fence that is still to come": {who: "anna", node: "retried", before: &api.Requests{}, wanted: &api.Requests{Retry: about(5, "anna")},
		refused: refusal{422, "this is fence 4 of retried; you asked to retry fence 5"}},
	"a node that is given back from another fence": {who: "anna", node: "given", before: &api.Requests{}, wanted: &api.Requests{Uncordon: about(3, "anna")},
		refused: refusal{422, "this is fence 4 of given; you gave the node back from fence 3"}},
	"an abort of another fence": {who: "anna", node: "aborted", before: &api.Requests{}, wanted: &api.Requests{Abort: aborts("anna", 3)},
		refused: refusal{422, "this is fence 4 of aborted; you aborted fence 3 (spec.requests.abort.fenceNumber; leave it out to abort the one that is open)"}},
	"an abort of this one":  {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Abort: aborts("anna", thisFence)}},
	"an abort of whichever": {who: "anna", before: &api.Requests{}, wanted: &api.Requests{Abort: aborts("anna")}},
	"a confirmation of a fence that is over": {who: "anna", node: "over", over: true, before: &api.Requests{}, wanted: &api.Requests{ConfirmOff: &api.Confirmation{Request: *wish("anna")}},
		refused: refusal{422, "fence 4 of over is over: there is nothing to confirm"}},

	"a wish takes another's place with the verb":                     {who: "cleo", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{Abort: aborts("cleo")}},
	"a wish takes no other's place without the verb":                 {who: "ben", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{Abort: aborts("ben")}, refused: refusal{403, "it needs the verb abort on nodefences"}},
	"a wish is withdrawn by who may write":                           {who: "ben", before: &api.Requests{Abort: aborts("anna"), Retry: wish("anna")}, wanted: &api.Requests{Retry: wish("anna")}},
	"all wishes are, as the gate does when it opens the record anew": {who: "ben", before: &api.Requests{Abort: aborts("anna")}, wanted: &api.Requests{}},
}

// TestRequestsAreHeldToTheirAuthors: by the admission policy of infra/crd nobody may ask
// without the verb, or in another person's name (S20: Kubernetes says who may ask).
func TestRequestsAreHeldToTheirAuthors(t *testing.T) {
	w := newWorld(t, 1, quick)
	must(t, w.Apply(w.ctx, people))
	// The last of the roles, and the last of the bindings: the API server learns them in order.
	w.allowed("dan", "abort", "dans")
	w.until("the admission policy to hold", func() (bool, error) {
		return strings.Contains(w.ask("ben", "probe", nil, &api.Requests{Abort: aborts("ben")}, false).says, "needs the verb abort"), nil
	})
	nodes := 0
	for name, c := range asks {
		if nodes++; c.node == "" {
			c.node = fmt.Sprintf("n-%d", nodes)
		}
		t.Run(name, func(t *testing.T) {
			got := w.ask(c.who, c.node, c.before, c.wanted, c.over)
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

// refusal is the API server's message; empty if it accepts the write.
type refusal struct {
	code int32
	says string
}

// ask writes the record as that user, after anna if she has asked before of the fence that
// was opened then.
func (w *world) ask(who, node string, before, wanted *api.Requests, over bool) refusal {
	w.t.Helper()
	f := w.record(node)
	if before != nil {
		made, err := w.as("anna").CreateFence(w.ctx, f)
		must(w.t, err)
		made.Status = f.Status
		if made.Status.FenceNumber = thisFence; over {
			made.Status.Phase = api.Finished
		}
		made, err = w.Fences.SaveFenceStatus(w.ctx, made)
		must(w.t, err)
		made.Spec.Requests = *before
		f, err = w.replace("anna", made)
		must(w.t, err)
		f.Spec.Requests = *wanted
		_, err = w.replace(who, f)
		return w.refused(err)
	}
	f.Spec.Requests = *wanted
	_, err := w.as(who).CreateFence(w.ctx, f)
	return w.refused(err)
}

// record is a node's first record, as the gate opens it.
func (w *world) record(node string) *api.NodeFence {
	w.t.Helper()
	policies, err := w.Fences.Policies(w.ctx)
	must(w.t, err)
	resolved, _ := policy.ResolvePolicy(policies, node, nil)
	return &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: 1, Decision: api.Decision{NodeUID: "1", Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: metav1.NewMicroTime(time.Now())},
		ResolvedPolicy: resolved,
	}}}
}

// refused is the message of the API server's refusal.
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
	c, err := kube.New(w.config(user))
	must(w.t, err)
	return c
}

func (w *world) config(user string) *rest.Config {
	cfg := rest.CopyConfig(w.Config)
	cfg.Impersonate.UserName = user
	return cfg
}

// replace writes the whole record as that user, as kubectl replace does.
func (w *world) replace(user string, f *api.NodeFence) (*api.NodeFence, error) {
	w.t.Helper()
	c, err := dynamic.NewForConfig(w.config(user))
	must(w.t, err)
	f.APIVersion, f.Kind = api.GroupVersion.String(), "NodeFence"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(f)
	must(w.t, err)
	made, err := c.Resource(api.GroupVersion.WithResource("nodefences")).Update(w.ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	now := new(api.NodeFence)
	must(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, now))
	return now, nil
}

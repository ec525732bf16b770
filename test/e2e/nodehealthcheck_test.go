package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/nhc"
	"github.com/nodefence/nodefence/test/rig"
)

// operator is the account of NodeHealthCheck. All that it may do to templates and objects it has from
// the roles that remediators label for it, as its operator collects them.
const operator = `
apiVersion: v1
kind: Namespace
metadata: {name: medik8s-leases}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ext-remediation}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.ext-remediation/aggregate-to-ext-remediation: "true"}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ext-remediation}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ext-remediation}
subjects: [{kind: User, name: ` + operatorName + `}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: otherremediations.example.com}
spec:
  group: example.com
  names: {kind: OtherRemediation, listKind: OtherRemediationList, plural: otherremediations, singular: otherremediation}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: otherremediationtemplates.example.com}
spec:
  group: example.com
  names: {kind: OtherRemediationTemplate, listKind: OtherRemediationTemplateList, plural: otherremediationtemplates, singular: otherremediationtemplate}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: other, labels: {rbac.ext-remediation/aggregate-to-ext-remediation: "true"}}
rules:
  - {apiGroups: [example.com], resources: [otherremediations, otherremediationtemplates], verbs: [get, list, watch, create, update, patch, delete]}
`

const operatorName = "system:serviceaccount:node-healthcheck:controller-manager"

// templates are four of nodefence's, and one of another remediator, which never does anything.
const templates = `
apiVersion: nodefence.io/v1alpha1
kind: FenceRequestTemplate
metadata: {name: one, namespace: nodefence-system}
spec: {template: {spec: {reason: NodeHealthCheck}}}
---
apiVersion: nodefence.io/v1alpha1
kind: FenceRequestTemplate
metadata: {name: first, namespace: nodefence-system, annotations: {remediation.medik8s.io/multiple-templates-support: "true"}}
---
apiVersion: nodefence.io/v1alpha1
kind: FenceRequestTemplate
metadata: {name: second, namespace: nodefence-system, annotations: {remediation.medik8s.io/multiple-templates-support: "true"}}
---
apiVersion: nodefence.io/v1alpha1
kind: FenceRequestTemplate
metadata: {name: skips, namespace: nodefence-system}
spec: {template: {spec: {reason: NodeHealthCheck, drain: Skip}}}
---
apiVersion: example.com/v1
kind: OtherRemediationTemplate
metadata: {name: other, namespace: default}
spec: {template: {spec: {}}}
`

// onlyAsked has nodefence begin nothing by itself: it waits for longer than any test lasts.
const onlyAsked = quick + "unhealthyConditions: [{type: Ready, status: Unknown, duration: 1h}]\n"

// healthChecks is NodeHealthCheck beside nodefence.
type healthChecks struct{ *world }

// page applies the objects of the page for users of medik8s as they are. Only the time that a node may
// be unhealthy is shorter.
func (h *healthChecks) page() {
	h.t.Helper()
	root, err := rig.Root()
	must(h.t, err)
	page, err := os.ReadFile(filepath.Join(root, "infra/MEDIK8S.md"))
	must(h.t, err)
	blocks := strings.Split(string(page), "```yaml\n")
	if len(blocks) != 3 || strings.Count(string(page), "duration: 300s") != 1 {
		h.t.Fatalf("the page has %d objects, want a template and a NodeHealthCheck that waits for 300s", len(blocks)-1)
	}
	for _, b := range blocks[1:] {
		b, _, _ = strings.Cut(b, "```")
		must(h.t, h.Apply(h.ctx, strings.Replace(b, "duration: 300s", "duration: 0s", 1)))
	}
}

// healthChecked is a lab whose nodes NodeHealthCheck may have fenced, and no one else.
func healthChecked(t *testing.T, nodes int, policy string) *healthChecks {
	t.Helper()
	h := &healthChecks{newWorld(t, nodes, policy)}
	must(t, h.Apply(h.ctx, nhc.CRD))
	must(t, h.Apply(h.ctx, operator))
	root, err := rig.Root()
	must(t, err)
	must(t, h.ApplyFile(h.ctx, root+"/infra/people/people.yaml"))
	h.until("the kinds to be served", func() (bool, error) { return h.Apply(h.ctx, templates) == nil, nil })
	h.review(operatorName, authorizationv1.ResourceAttributes{Group: "example.com", Resource: "otherremediations", Verb: "update", Namespace: "default"})
	h.review(operatorName, authorizationv1.ResourceAttributes{Group: api.GroupVersion.Group, Resource: "nodefences", Verb: "fence", Name: "node-0"})
	h.start(func(o *local.Options) { o.Settings.RemediationLeases = nhc.Leases })
	return h
}

// check has one node looked after by a NodeHealthCheck of its own. steps are templates with their
// timeouts, such as first=5s; a single one without a timeout is the only template.
func (h *healthChecks) check(name, node string, steps ...string) *nhc.Check {
	h.t.Helper()
	h.applyCheck(name, node, steps...)
	return h.plays(name)
}

// applyCheck writes a NodeHealthCheck, or changes it.
func (h *healthChecks) applyCheck(name, node string, steps ...string) {
	h.t.Helper()
	spec := fmt.Sprintf("selector: {matchLabels: {kubernetes.io/hostname: %s}}, unhealthyConditions: [{type: Ready, status: Unknown, duration: 0s}]", node)
	var all []string
	for i, s := range steps {
		template, timeout, timed := strings.Cut(s, "=")
		ref := "{apiVersion: nodefence.io/v1alpha1, kind: FenceRequestTemplate, namespace: nodefence-system, name: " + template + "}"
		if template == "other" {
			ref = "{apiVersion: example.com/v1, kind: OtherRemediationTemplate, namespace: default, name: other}"
		}
		if !timed {
			spec += ", remediationTemplate: " + ref
			continue
		}
		all = append(all, fmt.Sprintf("{remediationTemplate: %s, order: %d, timeout: %s}", ref, i, timeout))
	}
	if len(all) > 0 {
		spec += ", escalatingRemediations: [" + strings.Join(all, ", ") + "]"
	}
	must(h.t, h.Apply(h.ctx, "{apiVersion: remediation.medik8s.io/v1alpha1, kind: NodeHealthCheck, metadata: {name: "+name+"}, spec: {"+spec+"}}"))
}

// plays has the operator look at a NodeHealthCheck until the test ends.
func (h *healthChecks) plays(name string) *nhc.Check {
	h.t.Helper()
	c := &nhc.Check{Name: name, Own: h.Config, Aggregated: h.config(operatorName), Logf: func(format string, args ...any) { h.t.Logf(name+": "+format, args...) }}
	ctx, stop := context.WithCancel(h.ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	return c
}

// says waits until a check has done all that, in this order, and nothing between.
func (h *healthChecks) says(c *nhc.Check, want ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.ctx, rig.Timeout)
	defer cancel()
	if err := rig.Until(ctx, strings.Join(want, "; "), func() (bool, error) { return slices.Equal(c.Said(), want), nil }); err != nil {
		h.t.Fatalf("%v; it said %s", err, strings.Join(c.Said(), "; "))
	}
}

// request is the FenceRequest of a node by a template; nil if there is none.
func (h *healthChecks) request(node, template string) *api.FenceRequest {
	h.t.Helper()
	all, err := h.Fences.FenceRequests(h.ctx, "nodefence-system")
	must(h.t, err)
	for i := range all {
		if marks := all[i].Annotations; marks[api.NodeNameAnnotation] == node && marks["remediation.medik8s.io/template-name"] == template {
			return &all[i]
		}
	}
	return nil
}

// stands waits until the request of a node by a template has that Succeeded, for that reason.
func (h *healthChecks) stands(node, template string, status metav1.ConditionStatus, why api.Reason) (r *api.FenceRequest) {
	h.t.Helper()
	h.until(fmt.Sprintf("the request of %s by %s to say %s, %s", node, template, status, why), func() (bool, error) {
		if r = h.request(node, template); r == nil {
			return false, nil
		}
		c := meta.FindStatusCondition(r.Status.Conditions, api.ConditionSucceeded)
		return c != nil && c.Status == status && c.Reason == string(why), nil
	})
	return r
}

// told are the Events about a FenceRequest, by their UID, oldest first.
func (h *healthChecks) told(r *api.FenceRequest) string {
	h.t.Helper()
	all, err := h.Kube.CoreV1().Events(r.Namespace).List(h.ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(r.UID)})
	must(h.t, err)
	slices.SortFunc(all.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	var words []string
	for _, e := range all.Items {
		if !strings.HasPrefix(e.Message, "[remediation] ") {
			h.t.Errorf("an Event says %q", e.Message)
		}
		words = append(words, e.Reason)
	}
	slices.Sort(words) // those of one second have no order
	return strings.Join(words, " ")
}

// leaseless waits until nobody holds the Lease of a node.
func (h *healthChecks) leaseless(node string) {
	h.t.Helper()
	h.until("nobody to hold the Lease of "+node, func() (bool, error) {
		_, err := h.Kube.CoordinationV1().Leases(nhc.Leases).Get(h.ctx, "node-"+node, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// TestNodeHealthCheckDrives: a node that dies is fenced because NodeHealthCheck asks, by an account
// that has the shipped role and no other right to it (S20: Kubernetes says who may ask). What nobody
// may fence fails at once, and NodeHealthCheck goes on to another remediator; one that takes too long
// is followed by nodefence. What it gives up after the cut runs to its end all the same.
func TestNodeHealthCheckDrives(t *testing.T) {
	h := healthChecked(t, 4, onlyAsked)
	node := h.database(1)

	h.page()
	_, err := h.Kube.CoreV1().Nodes().Patch(h.ctx, node, types.MergePatchType, []byte(`{"metadata":{"labels":{"node-role.kubernetes.io/worker":""}}}`), metav1.PatchOptions{})
	must(t, err)
	workers := h.plays("workers")
	h.node(node, "crash")
	r := h.stands(node, "fence", metav1.ConditionTrue, api.RemediationFinishedSuccessfully)
	if !strings.HasPrefix(r.Name, node+"-") || len(r.OwnerReferences) != 1 || r.OwnerReferences[0].Kind != "NodeHealthCheck" {
		t.Errorf("it made %s, of %+v", r.Name, r.OwnerReferences)
	}
	second := h.moved("db-0", node)
	others := slices.DeleteFunc([]string{"node-0", "node-1", "node-2", "node-3"}, func(s string) bool { return s == node || s == second })
	f := h.ended(node, api.Recovered)
	if a := f.Status.Decision.AskedBy[0]; !strings.HasSuffix(a.User, ", owner NodeHealthCheck/workers") || a.Reason != "NodeHealthCheck" {
		t.Errorf("asked for by %+v", f.Status.Decision.AskedBy)
	}
	h.says(workers, "made that of "+node+" by fence", "deleted that of "+node+" by fence: its node is healthy")
	h.gone(r)
	h.leaseless(node)
	h.words(node, "off on")
	h.unmarked(node)
	h.oneWriter()
	h.until("the Events about it", func() (bool, error) { return h.told(r) == "RemediationFinished RemediationStarted", nil })

	h.deletesAfterTheCut(second)

	// No policy selects the next node, and there is another remediator.
	must(t, h.Apply(h.ctx, rig.Policy("default", strings.Replace(onlyAsked, "unhealthyConditions", "selector: {matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: ["+others[0]+"]}]}\nunhealthyConditions", 1))))
	fails := h.check("fails", others[0], "one=1h", "other=1h")
	h.node(others[0], "crash")
	r = h.stands(others[0], "one", metav1.ConditionFalse, api.NoPolicy)
	if r.Name != others[0] {
		t.Errorf("it made %s", r.Name)
	}
	h.says(fails, "made that of "+others[0]+" by one", "gave that of "+others[0]+" by one up: it has failed", "made that of "+others[0]+" by other")
	h.until("the Event about it", func() (bool, error) { return h.told(r) == "RemediationCannotStart RemediationStarted", nil })
	h.words(others[0], "")

	// Another remediator takes too long, and nodefence comes after it.
	late := h.check("late", others[1], "other=1s", "one=1h")
	h.node(others[1], "crash")
	h.stands(others[1], "one", metav1.ConditionTrue, api.RemediationFinishedSuccessfully)
	h.ended(others[1], api.Recovered)
	h.words(others[1], "off on")
	h.until("all of it to be deleted", func() (bool, error) { return h.request(others[1], "one") == nil, nil })
	if said := late.Said(); !slices.Equal(said[:3], []string{"made that of " + others[1] + " by other", "gave that of " + others[1] + " by other up: it took too long", "made that of " + others[1] + " by one"}) {
		t.Errorf("it said %s", strings.Join(said, "; "))
	}
}

// deletesAfterTheCut: a node lives, and has a problem, which goes away once its machine was told to switch
// off. NodeHealthCheck deletes its object before anything is proven. The fence runs to its end (S25: what
// was begun runs to its end): the machine is cut once, its work is released and starts elsewhere, and it is
// switched on. The object goes after that.
func (h *healthChecks) deletesAfterTheCut(node string) {
	h.t.Helper()
	must(h.t, h.Apply(h.ctx, fmt.Sprintf(`{apiVersion: remediation.medik8s.io/v1alpha1, kind: NodeHealthCheck, metadata: {name: clears}, spec: {
  selector: {matchLabels: {kubernetes.io/hostname: %s}}, unhealthyConditions: [{type: Broken, status: "True", duration: 0s}],
  remediationTemplate: {apiVersion: nodefence.io/v1alpha1, kind: FenceRequestTemplate, namespace: nodefence-system, name: skips}}}`, node)))
	clears := h.plays("clears")
	must(h.t, h.Lab.Fault(node, "slow=10s")) // so long does the machine go on after the Off
	must(h.t, h.SetCondition(h.ctx, node, "Broken", "True"))
	h.until("the machine to be told", func() (bool, error) {
		words, err := h.Lab.Words(node)
		return words == "off", err
	})
	must(h.t, h.SetCondition(h.ctx, node, "Broken", "False"))
	h.says(clears, "made that of "+node+" by skips", "deleted that of "+node+" by skips: its node is healthy")
	r := h.request(node, "skips")
	f, err := h.Fences.Fence(h.ctx, node)
	must(h.t, err)
	if f.Status.Phase != api.Fencing || f.Status.Proof != nil {
		h.t.Fatalf("it was deleted too late to show anything: the fence is %s, with proof %+v", f.Status.Phase, f.Status.Proof)
	}
	if r == nil || r.DeletionTimestamp == nil {
		h.t.Fatalf("the object goes before its fence is over: %+v", r)
	}
	h.moved("db-0", node)
	h.ended(node, api.Recovered)
	h.gone(r)
	h.words(node, "off on")
	h.unmarked(node)
	h.leaseless(node)
	h.oneWriter()
}

// TestNodeHealthCheckGivesUp: nothing is cut for what it has given up, deleted, or has no node any
// more (S17: a fence whose reason is gone is called off), and the next of two templates of one kind
// is carried out, although the fence of the first has not ended when its object is made. Nor is anything
// cut while NodeHealthCheck is with another remediator, for whomever the fence goes on.
func TestNodeHealthCheckGivesUp(t *testing.T) {
	h := healthChecked(t, 5, onlyAsked+"mode: RequireApproval\n")
	waits := func(node, template string) (r *api.FenceRequest) {
		h.t.Helper()
		h.until("the request of "+node+" by "+template+" to wait for approval", func() (bool, error) {
			if r = h.request(node, template); r == nil {
				return false, nil
			}
			c := meta.FindStatusCondition(r.Status.Conditions, api.ConditionProcessing)
			return c != nil && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Message, "Pending, WaitingForApproval: "), nil
		})
		return r
	}

	two := h.check("two", "node-1", "first=5s", "second=1h")
	h.node("node-1", "crash")
	first := h.stands("node-1", "first", metav1.ConditionFalse, api.RemediationInterruptedByNHC)
	second := waits("node-1", "second")
	if !strings.HasPrefix(first.Name, "node-1-") || !strings.HasPrefix(second.Name, "node-1-") || first.Annotations[api.TimedOutAnnotation] == "" {
		t.Errorf("made are %s and %s, and given up is %v", first.Name, second.Name, first.Annotations)
	}
	h.words("node-1", "")
	f := h.phase("node-1", api.Pending)
	if f.Status.FenceNumber != 2 || f.Status.Past[0].Outcome != api.Aborted {
		t.Errorf("fence %d, after %+v", f.Status.FenceNumber, f.Status.Past)
	}
	h.approve(f)
	h.stands("node-1", "second", metav1.ConditionTrue, api.RemediationFinishedSuccessfully)
	h.ended("node-1", api.Recovered)
	h.words("node-1", "off on")
	h.until("both to be deleted", func() (bool, error) {
		return h.request("node-1", "first") == nil && h.request("node-1", "second") == nil, nil
	})
	h.leaseless("node-1")
	h.until("the Events about the first", func() (bool, error) { return h.told(first) == "RemediationStarted RemediationStopped", nil })
	if said := two.Said(); said[1] != "gave that of node-1 by first up: it took too long" {
		t.Errorf("it said %s", strings.Join(said, "; "))
	}

	// A node heals while its fence waits.
	heals := h.check("heals", "node-2", "one")
	h.node("node-2", "partition")
	r := waits("node-2", "one")
	h.node("node-2", "heal")
	h.says(heals, "made that of node-2 by one", "deleted that of node-2 by one: its node is healthy")
	h.gone(r)
	if f := h.phase("node-2", api.Finished); f.Status.CutOrReleased || f.Status.Outcome != api.Aborted {
		t.Errorf("of a healthy node: %s, cut %v", f.Status.Outcome, f.Status.CutOrReleased)
	}
	h.words("node-2", "")
	h.unmarked("node-2")
	h.leaseless("node-2")

	// A node is deleted while its fence waits.
	gone := h.check("gone", "node-3", "one")
	h.node("node-3", "crash")
	r = waits("node-3", "one")
	must(t, h.Kube.CoreV1().Nodes().Delete(h.ctx, "node-3", metav1.DeleteOptions{}))
	h.says(gone, "made that of node-3 by one", "deleted that of node-3 by one: its node is gone")
	h.gone(r)
	h.phase("node-3", api.Finished)
	h.words("node-3", "")
	h.leaseless("node-3")

	// A person asks too. So the fence stays when NodeHealthCheck gives its own request up, and waits for
	// the other remediator, for which NodeHealthCheck holds the Lease.
	beside := h.check("beside", "node-4", "first=1h", "other=1h")
	h.node("node-4", "crash")
	waits("node-4", "first")
	must(t, h.Apply(h.ctx, "{apiVersion: nodefence.io/v1alpha1, kind: FenceRequest, metadata: {name: node-4, namespace: nodefence-system}, spec: {nodeName: node-4, reason: mine}}"))
	h.until("both to have asked", func() (bool, error) {
		f, err := h.Fences.Fence(h.ctx, "node-4")
		return f != nil && len(f.Status.Decision.AskedBy) == 2, err
	})
	h.applyCheck("beside", "node-4", "first=1s", "other=1h")
	h.stands("node-4", "first", metav1.ConditionFalse, api.RemediationInterruptedByNHC)
	h.says(beside, "made that of node-4 by first", "gave that of node-4 by first up: it took too long", "made that of node-4 by other")
	h.approve(h.phase("node-4", api.Pending))
	if f := h.held("node-4", api.AnotherRemediator); !strings.HasPrefix(f.Status.Message, "NodeHealthCheck-beside works on this node") || len(f.Status.Decision.AskedBy) != 2 {
		t.Errorf("asked for by %d, and it waits: %s", len(f.Status.Decision.AskedBy), f.Status.Message)
	}
	h.words("node-4", "")
}

// TestARetryPassesANodeHealthCheckThatOnlyAsks: nobody approved the fence that NodeHealthCheck asked for, so its
// FenceRequest has failed, and NodeHealthCheck keeps the Lease of the node. The fence that a person retries does not
// wait for that Lease: the NodeHealthCheck has no other remediator.
func TestARetryPassesANodeHealthCheckThatOnlyAsks(t *testing.T) {
	h := healthChecked(t, 3, onlyAsked+"mode: RequireApproval\napprovalTimeout: 1s\n")
	root, err := rig.Root()
	must(t, err)
	must(t, h.ApplyFile(h.ctx, root+"/infra/knative/components/remediation/rights.yaml"))
	h.review("system:serviceaccount:nodefence-system:nodefence-gate", authorizationv1.ResourceAttributes{Group: "remediation.medik8s.io", Resource: "nodehealthchecks", Verb: "get", Name: "alone"})

	h.check("alone", "node-1", "one")
	h.node("node-1", "crash")
	h.stands("node-1", "one", metav1.ConditionFalse, api.NotApproved)
	f := h.phase("node-1", api.Failed)
	lease, err := h.Kube.CoordinationV1().Leases(nhc.Leases).Get(h.ctx, "node-node-1", metav1.GetOptions{})
	must(t, err)
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "NodeHealthCheck-alone" {
		t.Fatalf("the Lease of node-1 is %+v", lease.Spec)
	}
	must(t, h.Apply(h.ctx, rig.Policy("default", onlyAsked)))
	h.asks(f, "retry")
	f = h.ended("node-1", api.Recovered)
	for _, e := range f.Status.History {
		if e.Reason == api.AnotherRemediator {
			t.Errorf("it waited: %s", e.Message)
		}
	}
	h.words("node-1", "off on")
}

// approve lets a fence begin that waits for it.
func (h *healthChecks) approve(f *api.NodeFence) {
	h.t.Helper()
	h.asks(f, "approve")
}

// asks writes a request of the test's own account into a fence.
func (h *healthChecks) asks(f *api.NodeFence, request string) {
	h.t.Helper()
	body := fmt.Appendf(nil, `{"spec":{"requests":{%q:{"fenceNumber":%d,"by":%q,"at":"2026-01-02T03:04:05Z"}}}}`, request, f.Status.FenceNumber, h.me())
	must(h.t, h.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+f.Name).Body(body).Do(h.ctx).Error())
}

// me is the name of the test's own account.
func (h *healthChecks) me() string {
	h.t.Helper()
	me, err := h.Fences.WhoAmI(h.ctx)
	must(h.t, err)
	return me
}

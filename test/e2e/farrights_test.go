package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/functions"
	adoption "github.com/nodefence/nodefence/functions/adopt"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestRightsToAdopt: with the rights of the base and of component far, and each function as its own
// account, an object of Fence Agents Remediation is answered to its end, a template's sample too, an
// object and a template in another namespace are told that they do not count, and nothing is forbidden.
func TestRightsToAdopt(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.remediations()
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, filepath.Join(root, "infra/accounts/rights.yaml")))
	w.granted(grants(t, filepath.Join(root, "infra/accounts/rights.yaml")))
	text, err := os.ReadFile(filepath.Join(root, "infra/knative/components/far/rights.yaml"))
	must(t, err)
	here := filepath.Join(t.TempDir(), "rights.yaml")
	must(t, os.WriteFile(here, []byte(strings.ReplaceAll(string(text), "openshift-workload-availability", "nodefence-system")), 0o600))
	must(t, w.ApplyFile(w.ctx, here))
	w.granted(grants(t, here))
	node := w.database(1)
	w.byFAR(node)
	other := map[bool]string{true: "node-1", false: "node-0"}[node == "node-0"]
	w.byFAR(other)
	w.sampled("1", other)
	o := &office{world: w, used: map[right]bool{}, checks: 3 * time.Second, adopts: adopt.Kinds{adopt.FAR}}
	o.open()
	parts, err := functions.NewParts(w.ctx, o.settings(), o.as("adopt"), o.logger(), freshRegistry())
	must(t, err)
	must(t, w.Apply(w.ctx, "apiVersion: "+far.GroupVersion+"\nkind: "+far.Kind+"\nmetadata: {name: node-0, namespace: default}\nspec: {agent: fence_ipmilan}\n"))
	must(t, w.Apply(w.ctx, "apiVersion: "+far.GroupVersion+"\nkind: "+far.TemplateKind+"\nmetadata: {name: apart, namespace: default}\nspec: {template: {spec: {agent: fence_ipmilan}}}\n"))
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() { defer close(done); parts.Adopter().Run(ctx, adoption.Tick) }()
	t.Cleanup(func() { stop(); <-done })
	asked := w.far(node, "", nil)
	if got := w.followed(asked); !strings.HasPrefix(got[len(got)-1], "False True True") {
		t.Errorf("it stands at %s", got)
	}
	w.phase(node, api.Finished)
	w.farGone(asked)
	w.unmarked(node)
	w.validation("True ValidationSucceeded parameters validation succeeded")
	for _, kind := range []string{far.Kind, far.TemplateKind} {
		w.until("the "+kind+" in another namespace to say that it does not count", func() (bool, error) {
			said, err := w.Kube.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind})
			return err == nil && len(said.Items) == 1 && said.Items[0].Reason == "NamespaceDoesNotCount" && strings.Contains(said.Items[0].Message, "(nodefence-system)"), err
		})
	}
}

// TestNodeHealthCheckKeepsItsRights: the role of component far is enough for NodeHealthCheck to make
// FenceAgentsRemediations of a template, after the role of Fence Agents Remediation itself has gone.
func TestNodeHealthCheckKeepsItsRights(t *testing.T) {
	w := newWorld(t, 1, quick)
	w.remediations()
	must(t, w.Apply(w.ctx, operator))
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, filepath.Join(root, "infra/knative/components/far/nodehealthcheck.yaml")))
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
		w.review(operatorName, authorizationv1.ResourceAttributes{Group: far.Group, Resource: "fenceagentsremediations", Verb: verb, Namespace: "nodefence-system"})
	}
	for _, verb := range []string{"get", "list", "watch"} {
		w.review(operatorName, authorizationv1.ResourceAttributes{Group: far.Group, Resource: "fenceagentsremediationtemplates", Verb: verb, Namespace: "nodefence-system"})
	}
}

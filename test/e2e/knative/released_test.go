package knative

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nodefence/nodefence/test/rig"
)

var bindings = schema.GroupVersionResource{Group: "sources.knative.dev", Version: "v1", Resource: "sinkbindings"}

// TestAFenceOnWhatIsReleased: `helm template | kubectl apply` of the chart that `make release` makes
// leaves a nodefence that fences, with the settings and the accounts of the Deployments that the API
// server then has. The manifest of the same release changes nothing of it.
func TestAFenceOnWhatIsReleased(t *testing.T) {
	w := newWorld(t)
	r := release(w.ctx, t, w.Cluster)
	r.kubectl(r.helm("template", "--kube-version", "1.36.3", "--set", "platform=deployments", "nodefence", r.file("nodefence-*.tgz")), "apply", "--server-side", "-f", "-")
	w.until("nodefence's kinds to be served", func() (bool, error) {
		_, err := w.Fences.Policies(w.ctx)
		return err == nil, nil
	})
	machines, err := w.Lab.Machines()
	must(t, err)
	must(t, w.Bind(w.ctx, machines))
	must(t, w.Apply(w.ctx, rig.Policy("default", quick)))
	w.ready(brokers, system, 1)
	applied := deployments(w.ctx, t, w.Cluster)
	if len(applied) != 10 {
		t.Fatalf("%d Deployments were applied, want nine functions and the source", len(applied))
	}
	for _, d := range applied {
		must(t, w.Run(w.ctx, w.workload(&d, w.list(bindings))))
	}
	w.ready(triggers, system, len(w.list(triggers)))
	w.crash(w.database()).end()

	for _, name := range []string{"namespaces", "crd"} {
		r.kubectl(nil, "apply", "--server-side", "-f", r.file("nodefence-"+name+".yaml"))
	}
	r.kubectl(nil, "apply", "-f", r.file("nodefence-ledger.yaml"))
	for _, name := range []string{"people", "deployments"} {
		r.kubectl(nil, "apply", "-f", r.file("nodefence-"+name+".yaml"))
	}
	if d := cmp.Diff(specs(applied), specs(deployments(w.ctx, t, w.Cluster))); d != "" {
		t.Errorf("the Deployments of the chart (-), and of the manifest (+):\n%s", d)
	}
}

func specs(all []appsv1.Deployment) map[string]appsv1.DeploymentSpec {
	by := map[string]appsv1.DeploymentSpec{}
	for _, d := range all {
		by[d.Name] = d.Spec
	}
	return by
}

// deployments are nodefence's, as the API server has them.
func deployments(ctx context.Context, t *testing.T, c *rig.Cluster) []appsv1.Deployment {
	t.Helper()
	list, err := c.Kube.AppsV1().Deployments(system).List(ctx, metav1.ListOptions{})
	must(t, err)
	return list.Items
}

// list is what the API server has of one kind in nodefence's namespace.
func (w *world) list(r schema.GroupVersionResource) []unstructured.Unstructured {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	list, err := dyn.Resource(r).Namespace(system).List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	return list.Items
}

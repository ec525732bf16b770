package knative

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// system is nodefence's namespace, and broker connects its functions.
const (
	system = "nodefence-system"
	broker = "nodefence"
)

// overlay is the deployment for clusters without Knative Serving.
const overlay = "infra/knative/overlays/deployments"

// quick makes a fence's own waits short; the proof stays the same. The stories fence the
// same nodes repeatedly.
const quick = `
power: {offTimeout: 1m, retryInterval: 1s, restarts: 100}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 3, stormCoolDown: 1s, perNode: {cutsPerDay: 50}}
`

// deploy installs nodefence as a user would, with a process for each Deployment.
func (w *world) deploy() {
	w.t.Helper()
	must(w.t, w.Install(w.ctx))
	machines, err := w.Lab.Machines()
	must(w.t, err)
	must(w.t, w.Bind(w.ctx, machines))
	must(w.t, w.Apply(w.ctx, rig.Policy("default", quick)))
	built := w.build()
	manifests, err := built.AsYaml()
	must(w.t, err)
	deployments, err := w.Deploy(w.ctx, manifests)
	must(w.t, err)
	w.ready(brokers, system, 1)
	for _, d := range deployments {
		must(w.t, w.Run(w.ctx, w.workload(d, ofKind(built, "SinkBinding"))))
	}
	w.ready(triggers, system, len(ofKind(built, "Trigger")))
}

// build is what `kubectl kustomize` prints.
func (w *world) build() resmap.ResMap {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, overlay))
	must(w.t, err)
	return m
}

func ofKind(m resmap.ResMap, kind string) (all []unstructured.Unstructured) {
	for _, r := range m.Resources() {
		if o, err := r.Map(); err == nil && r.GetKind() == kind {
			all = append(all, unstructured.Unstructured{Object: o})
		}
	}
	return all
}

// workload says which program stands for a Deployment's image, and gives it what
// Knative's SinkBinding would.
func (w *world) workload(d *appsv1.Deployment, bindings []unstructured.Unstructured) plane.Workload {
	w.t.Helper()
	image, _, _ := strings.Cut(path.Base(d.Spec.Template.Spec.Containers[0].Image), ":")
	program, err := rig.Bin(image)
	must(w.t, err)
	listen := func(port int) string { return fmt.Sprintf("PORT=%d", port) }
	if image == "nodefence-source" {
		listen = func(port int) string { return fmt.Sprintf("LISTEN=127.0.0.1:%d", port) }
	}
	out := plane.Workload{Deployment: d, Path: program, Listen: listen, Ready: "/readyz", Env: slices.Clone(w.env)}
	if bound(d.Name, bindings) {
		out.Env = append(out.Env, "K_SINK="+w.brokerURL())
	}
	return out
}

// bound tells whether a SinkBinding is about this Deployment.
func bound(deployment string, bindings []unstructured.Unstructured) bool {
	return slices.ContainsFunc(bindings, func(u unstructured.Unstructured) bool {
		subject, _, _ := unstructured.NestedString(u.Object, "spec", "subject", "name")
		return subject == deployment
	})
}

// brokerURL is where Knative says that events go.
func (w *world) brokerURL() string {
	w.t.Helper()
	dyn, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	b, err := dyn.Resource(brokers).Namespace(system).Get(w.ctx, broker, metav1.GetOptions{})
	must(w.t, err)
	u, _, err := unstructured.NestedString(b.Object, "status", "address", "url")
	must(w.t, err)
	if u == "" {
		w.t.Fatal("the broker is Ready and has no address")
	}
	return u
}

package knative

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// serving is where the kind of Knative Services comes from.
const serving = "knative.dev/serving@v0.48.1"

// TestManifestsAreAccepted: every overlay builds, and the API server takes each of
// its objects, with Knative's own kinds.
func TestManifestsAreAccepted(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline(t))
	t.Cleanup(cancel)
	c := newLab(ctx, t, 1)
	must(t, plane.Install(ctx, c))
	must(t, c.ApplyFile(ctx, servingKind(t)))
	must(t, c.Install(ctx))
	root, err := rig.Root()
	must(t, err)
	for _, folder := range []string{"overlays/deployments", "overlays/serving", "overlays/kafka", "components/authentication"} {
		t.Run(folder, func(t *testing.T) {
			m := built(t, filepath.Join(root, "infra/knative", folder))
			text, err := m.AsYaml()
			must(t, err)
			must(t, c.Apply(ctx, string(text)))
			t.Logf("%d objects", m.Size())
		})
	}
	t.Run("dataplane", func(t *testing.T) { dataPlane(ctx, t, c, filepath.Join(root, "infra/knative/dataplane")) })
}

// dataPlane is applied over Knative's own objects, and does not change their other fields. Each
// part of it survives the loss of a node as a function does.
func dataPlane(ctx context.Context, t *testing.T, c *rig.Cluster, folder string) {
	m := built(t, folder)
	text, err := m.AsYaml()
	must(t, err)
	must(t, c.ApplyAs(ctx, "nodefence", string(text)))
	autoscaled := map[string]int32{}
	all, err := c.Kube.AutoscalingV2().HorizontalPodAutoscalers(plane.Namespace).List(ctx, metav1.ListOptions{})
	must(t, err)
	for _, a := range all.Items {
		autoscaled[a.Spec.ScaleTargetRef.Name] = *a.Spec.MinReplicas
	}
	got := map[string]outlives{}
	for _, name := range []string{"mt-broker-ingress", "mt-broker-filter", "imc-dispatcher"} {
		d, err := c.Kube.AppsV1().Deployments(plane.Namespace).Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		is := stays(d.Spec.Template)
		is.Two = *d.Spec.Replicas == 2 || autoscaled[name] == 2
		if d.Spec.Template.Spec.PriorityClassName != "system-cluster-critical" || len(d.Spec.Template.Spec.Containers) != 1 || len(d.Spec.Template.Spec.Containers[0].Env) == 0 {
			t.Errorf("%s: priority class %q, containers %v", name, d.Spec.Template.Spec.PriorityClassName, d.Spec.Template.Spec.Containers)
		}
		for _, s := range d.Spec.Template.Spec.TopologySpreadConstraints {
			if d := cmp.Diff(d.Spec.Selector, s.LabelSelector); d != "" {
				t.Errorf("%s is spread by other pods:\n%s", name, d)
			}
		}
		got[name] = is
	}
	want := outlives{Two: true, Spread: []string{"kubernetes.io/hostname by "}, Apart: []string{"topology.kubernetes.io/zone by "}, After: soon}
	if d := cmp.Diff(map[string]outlives{"mt-broker-ingress": want, "mt-broker-filter": want, "imc-dispatcher": want}, got); d != "" {
		t.Error(d)
	}
}

// outlives are the settings by which a workload survives the loss of a pod's node.
type outlives struct {
	Two    bool
	Spread []string
	// Apart are the topologies in which two pods stand apart, if they can.
	Apart []string
	After map[string]int64
}

// soon is how long a pod stays bound to a node that is lost.
var soon = map[string]int64{"node.kubernetes.io/not-ready": 10, "node.kubernetes.io/unreachable": 10}

// function is the label by which functions are spread.
const function = "nodefence.io/function"

func stays(pod corev1.PodTemplateSpec) outlives {
	is := outlives{After: map[string]int64{}}
	by := func(topology string, keys []string, selector *metav1.LabelSelector) string {
		if own := pod.Labels[function]; own != "" && selector.MatchLabels[function] == own {
			return topology + " by " + function
		}
		return topology + " by " + strings.Join(keys, ",")
	}
	for _, s := range pod.Spec.TopologySpreadConstraints {
		is.Spread = append(is.Spread, by(s.TopologyKey, s.MatchLabelKeys, s.LabelSelector))
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, w := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			is.Apart = append(is.Apart, by(w.PodAffinityTerm.TopologyKey, w.PodAffinityTerm.MatchLabelKeys, w.PodAffinityTerm.LabelSelector))
		}
	}
	for _, tol := range pod.Spec.Tolerations {
		if tol.Effect == corev1.TaintEffectNoExecute && tol.Operator == corev1.TolerationOpExists && tol.TolerationSeconds != nil {
			is.After[tol.Key] = *tol.TolerationSeconds
		}
	}
	return is
}

func built(t *testing.T, folder string) resmap.ResMap {
	t.Helper()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	must(t, err)
	return m
}

// TestEachFunctionOutlivesItsNode: in every overlay each function and the source have two pods
// on different nodes, and a pod on a node that is lost is soon replaced.
func TestEachFunctionOutlivesItsNode(t *testing.T) {
	root, err := rig.Root()
	must(t, err)
	want := outlives{Two: true, Spread: []string{"kubernetes.io/hostname by " + function}, Apart: []string{"topology.kubernetes.io/zone by " + function}, After: soon}
	for _, overlay := range []string{"deployments", "serving", "kafka"} {
		got := map[string]outlives{}
		for _, r := range built(t, filepath.Join(root, "infra/knative/overlays", overlay)).Resources() {
			var w struct {
				Spec struct {
					Replicas int32
					Template corev1.PodTemplateSpec
				}
			}
			text, err := r.MarshalJSON()
			must(t, err)
			if k := r.GetKind(); k != "Deployment" && k != "Service" || json.Unmarshal(text, &w) != nil || len(w.Spec.Template.Spec.Containers) == 0 {
				continue
			}
			pod := w.Spec.Template
			is := stays(pod)
			is.Two = w.Spec.Replicas == 2 || pod.Annotations["autoscaling.knative.dev/min-scale"] == "2"
			got[pod.Labels[function]] = is
		}
		all := map[string]outlives{}
		for _, name := range []string{"gate", "isolate", "power", "cleanup", "recover", "request", "deadletter", "resync", "policystatus", "source"} {
			all[name] = want
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("%s:\n%s", overlay, d)
		}
	}
}

// TestNoDeviceHoldsUpAnotherNode: if a broker has an order, functions that call devices get
// their events without it: in order, one node's device that hangs would delay other nodes.
func TestNoDeviceHoldsUpAnotherNode(t *testing.T) {
	root, err := rig.Root()
	must(t, err)
	got := map[string]string{}
	for _, r := range built(t, filepath.Join(root, "infra/knative/overlays/kafka")).Resources() {
		if r.GetKind() == "Trigger" {
			got[r.GetName()] = r.GetAnnotations()["kafka.eventing.knative.dev/delivery.order"]
		}
	}
	want := map[string]string{
		"nodefence-gate": "ordered", "nodefence-unknown": "", "nodefence-isolate": "", "nodefence-power": "", "nodefence-cleanup": "ordered", "nodefence-recover": "ordered", "nodefence-request": "ordered",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// servingKind is the file that defines Knative Services.
func servingKind(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", serving).Output()
	must(t, err)
	var m struct{ Dir string }
	must(t, json.Unmarshal(out, &m))
	return filepath.Join(m.Dir, "config/core/300-resources/service.yaml")
}

package knative

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// object is one document of a manifest.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	file              string
	text              []byte
}

// into reads the object as its own type.
func (o object) into(t *testing.T, typed any) {
	t.Helper()
	if err := json.Unmarshal(o.text, typed); err != nil {
		t.Fatalf("%s: %v", o.file, err)
	}
}

// documents are the objects of all manifests of Knative's folder, as they stand there.
func documents(t *testing.T) (all []object) {
	t.Helper()
	for name, text := range manifests(t) {
		if !strings.HasPrefix(name, "knative/") {
			continue
		}
		docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
		for {
			var raw json.RawMessage
			if err := docs.Decode(&raw); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(name, err)
			}
			o := object{file: name, text: raw}
			if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
				o.into(t, &o)
			}
			all = append(all, o)
		}
	}
	return all
}

// pods are the templates of what runs, by the object. What an overlay patches in is not there.
func pods(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	all := map[string]corev1.PodTemplateSpec{}
	for _, o := range documents(t) {
		if o.Kind != "Deployment" && !(o.Kind == "Service" && strings.HasPrefix(o.APIVersion, "serving.")) {
			continue
		}
		var d appsv1.Deployment
		o.into(t, &d)
		d.Spec.Template.Namespace = o.Namespace
		all[o.file+" "+o.Name] = d.Spec.Template
	}
	if len(all) < 24 {
		t.Fatalf("only %d workloads were found", len(all))
	}
	return all
}

// TestEachFunctionHasABudgetOfItsOwn, so that one whose pods do not start holds no drain: neither by
// the others' pods nor by its own. Two budgets of one pod would hold every eviction of it.
func TestEachFunctionHasABudgetOfItsOwn(t *testing.T) {
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	got := map[string]policyv1.PodDisruptionBudgetSpec{}
	for _, o := range documents(t) {
		if o.Kind != "PodDisruptionBudget" {
			continue
		}
		var b policyv1.PodDisruptionBudget
		o.into(t, &b)
		selects := b.Spec.Selector
		if b.Spec.Selector = nil; !cmp.Equal(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, UnhealthyPodEvictionPolicy: &always}, b.Spec) {
			t.Errorf("%s %s: %+v", o.file, o.Name, b.Spec)
		}
		by := o.Namespace + " " + metav1.FormatLabelSelector(selects)
		if _, twice := got[by]; twice {
			t.Errorf("%s: %s have two budgets", o.file, by)
		}
		got[by] = b.Spec
	}
	want := map[string]bool{}
	for _, pod := range pods(t) {
		if function := pod.Labels["nodefence.io/function"]; function != "" {
			want[pod.Namespace+" nodefence.io/function="+function] = true
		}
	}
	var ours []string
	for by := range got {
		if !strings.HasPrefix(by, "knative-eventing ") { // the Broker's own, in dataplane
			ours = append(ours, by)
		}
	}
	slices.Sort(ours)
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), ours); d != "" {
		t.Errorf("functions (-), budgets (+):\n%s", d)
	}
}

// TestCriticalPodsAreAdmitted: some clusters admit system-cluster-critical outside of kube-system only
// with a quota of that class. The pods of the overlays have the class by a patch.
func TestCriticalPodsAreAdmitted(t *testing.T) {
	quotas, want := map[string]bool{}, map[string]bool{"nodefence-system": true}
	for _, o := range documents(t) {
		var q corev1.ResourceQuota
		if o.Kind != "ResourceQuota" {
			continue
		}
		o.into(t, &q)
		for _, m := range q.Spec.ScopeSelector.MatchExpressions {
			if m.ScopeName == corev1.ResourceQuotaScopePriorityClass && m.Operator == corev1.ScopeSelectorOpIn && slices.Contains(m.Values, "system-cluster-critical") {
				quotas[o.Namespace] = true
			}
		}
	}
	for _, pod := range pods(t) {
		if pod.Spec.PriorityClassName == "system-cluster-critical" {
			want[pod.Namespace] = true
		}
	}
	if d := cmp.Diff(want, quotas); d != "" {
		t.Errorf("namespaces with critical pods (-), with a quota for them (+):\n%s", d)
	}
}

// TestCriticalPodsLeaveADeadNodeSoon, and stand on different nodes, in different zones where there are
// any. test/e2e/knative holds what the overlays patch into the functions' pods.
func TestCriticalPodsLeaveADeadNodeSoon(t *testing.T) {
	n := 0
	for name, pod := range pods(t) {
		if pod.Spec.PriorityClassName == "" {
			continue
		}
		n++
		after := map[string]int64{}
		for _, tol := range pod.Spec.Tolerations {
			if tol.Effect == corev1.TaintEffectNoExecute && tol.Operator == corev1.TolerationOpExists && tol.TolerationSeconds != nil {
				after[tol.Key] = *tol.TolerationSeconds
			}
		}
		if d := cmp.Diff(map[string]int64{"node.kubernetes.io/not-ready": 10, "node.kubernetes.io/unreachable": 10}, after); d != "" {
			t.Errorf("%s stays bound to a dead node for another time:\n%s", name, d)
		}
		spread(t, name, pod.Spec)
	}
	if n != 6 {
		t.Errorf("%d critical workloads, want source, adopt, kdump and three of the Broker's", n)
	}
}

// spread looks that pods are spread over nodes by a constraint, and over zones by no constraint: the
// scheduler counts no node that lacks the label of one of them, and many clusters have no zones.
func spread(t *testing.T, name string, pod corev1.PodSpec) {
	t.Helper()
	if len(pod.TopologySpreadConstraints) != 1 || pod.TopologySpreadConstraints[0].TopologyKey != corev1.LabelHostname {
		t.Errorf("%s is spread by %+v, want by node alone", name, pod.TopologySpreadConstraints)
		return
	}
	by := pod.TopologySpreadConstraints[0]
	want := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
		Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: by.LabelSelector, MatchLabelKeys: by.MatchLabelKeys},
	}}}}
	if d := cmp.Diff(want, pod.Affinity); d != "" {
		t.Errorf("%s is kept apart by zone in another way than by node:\n%s", name, d)
	}
}

// TestThePodMonitorReadsEachPart: a PodMonitor reads its own namespace alone, unless it names others.
func TestThePodMonitorReadsEachPart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "observability", "podmonitor.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Spec struct{ NamespaceSelector struct{ MatchNames []string } }
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, pod := range pods(t) {
		if pod.Labels["app.kubernetes.io/part-of"] == "nodefence" {
			want[pod.Namespace] = true
		}
	}
	slices.Sort(m.Spec.NamespaceSelector.MatchNames)
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), m.Spec.NamespaceSelector.MatchNames); d != "" {
		t.Errorf("namespaces of nodefence's pods (-), of the PodMonitor (+):\n%s", d)
	}
}

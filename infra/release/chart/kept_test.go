package chart

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestEachNamespaceIsKept when Helm uninstalls, and when a component is turned off: calls may be
// under way in it.
func TestEachNamespaceIsKept(t *testing.T) {
	got, err := render(loaded(t), "default", "components: {jobs: {enabled: true}, kdump: {enabled: true}}")
	must(t, err)
	n := 0
	for _, o := range got {
		if o.GetKind() == "Namespace" {
			n++
			if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("namespace %s is not kept", o.GetName())
			}
		}
	}
	if n != 5 {
		t.Errorf("%d namespaces, want 5", n)
	}
}

// TestTheNamespaceOfChecksHasAQuota, by whatever name.
func TestTheNamespaceOfChecksHasAQuota(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]string{"": "nodefence-checks", "namespaces: {checks: fence-checks}": "fence-checks"} {
		got, err := render(c, "default", values)
		must(t, err)
		var in []string
		for _, o := range got {
			if pods, _, _ := unstructured.NestedString(o.Object, "spec", "hard", "pods"); o.GetKind() == "ResourceQuota" && pods == "25" {
				in = append(in, o.GetNamespace())
			}
		}
		if len(in) != 1 || in[0] != want {
			t.Errorf("%q: quotas of checks in %v, want one in %s", values, in, want)
		}
	}
}

// TestHelmMakesNoNamespaceWithoutItsLabels: --create-namespace gives none.
func TestHelmMakesNoNamespaceWithoutItsLabels(t *testing.T) {
	c := loaded(t)
	const jobs = "components: {jobs: {enabled: true}}"
	for _, r := range []struct{ namespace, values string }{{"nodefence-checks", ""}, {"nodefence-jobs", jobs}, {"fence-jobs", "namespaces: {checks: fence-jobs}"}} {
		_, err := render(c, r.namespace, r.values)
		if want := fmt.Sprintf("Helm makes namespace %q without its label pod-security.kubernetes.io/enforce", r.namespace); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("into %s: got %v, want %q", r.namespace, err, want)
		}
	}
	for _, r := range []struct{ namespace, values string }{{"nodefence-jobs", ""}, {"nodefence-devices", ""}, {"nodefence-checks", "namespaces: {create: false}"}} {
		if _, err := render(c, r.namespace, r.values); err != nil {
			t.Errorf("into %s: %v", r.namespace, err)
		}
	}
}

// TestServingIsToldEachFeature: what Knative Serving takes in a pod only by a feature is named where
// the features are.
func TestServingIsToldEachFeature(t *testing.T) {
	got, err := render(loaded(t), "default", "platform: serving\nnodeSelector: {role: infra}\ntolerations: [{key: infra}]\nimagePullSecrets: [{name: pull}]")
	must(t, err)
	readme := string(read(t, "infra/knative/README.md"))
	always := map[string]bool{"containers": true, "containerConcurrency": true, "imagePullSecrets": true, "serviceAccountName": true, "timeoutSeconds": true}
	features, services := map[string]bool{}, 0
	for _, o := range got {
		if !strings.HasPrefix(o.GetAPIVersion(), "serving.knative.dev/") {
			continue
		}
		services++
		pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		for field := range pod {
			if !always[field] {
				features[field] = true
			}
		}
	}
	if services == 0 || !features["nodeSelector"] {
		t.Fatalf("%d Services with %v", services, features)
	}
	for field := range features {
		if want := `"kubernetes.podspec-` + strings.ToLower(field) + `":"enabled"`; !strings.Contains(readme, want) {
			t.Errorf("%s is in the pods of Services, and infra/knative/README.md names no %s", field, want)
		}
	}
}

// TestWhatStandsApart: kinds and admission policies, and the objects of the Prometheus operator, are
// taken or left one by one.
func TestWhatStandsApart(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]map[string]int{
		"":                                    {"CustomResourceDefinition": 10, "ValidatingAdmissionPolicy": 23, "ValidatingAdmissionPolicyBinding": 23},
		"kinds: {install: false}":             {"ValidatingAdmissionPolicy": 23, "ValidatingAdmissionPolicyBinding": 23},
		"admissionPolicies: {install: false}": {"CustomResourceDefinition": 10},
		"kinds: {install: false}\nadmissionPolicies: {install: false}\npodMonitor: true":                                  {"PodMonitor": 1},
		"kinds: {install: false}\nadmissionPolicies: {install: false}\nprometheusRule: true\nnamespaces: {system: fence}": {"PrometheusRule": 1},
	} {
		got, err := render(c, "default", values)
		must(t, err)
		for _, kind := range []string{"CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "PodMonitor", "PrometheusRule"} {
			if n := count(got, kind); n != want[kind] {
				t.Errorf("%q: %d of %s, want %d", values, n, kind, want[kind])
			}
		}
	}
}

func count(objects []manifests.Object, kind string) (n int) {
	for _, o := range objects {
		if o.GetKind() == kind {
			n++
		}
	}
	return n
}

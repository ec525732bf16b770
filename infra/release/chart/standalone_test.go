package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestStandaloneSaysWhatItsFolderSays, with each component that a cluster without Knative may have.
func TestStandaloneSaysWhatItsFolderSays(t *testing.T) {
	c := loaded(t)
	for _, on := range append([][]string{nil, Standalone}, []string{"jobs"}, []string{"remediation"}) {
		values := "platform: standalone\ncomponents: {"
		for _, name := range on {
			values += name + ": {enabled: true}, "
		}
		got, err := renderAsIs(c, "default", values+"}")
		must(t, err)
		if d := cmp.Diff(said(t, manifests.Standalone, on...), byID(t, got)); d != "" {
			t.Errorf("%v: kustomize (-), Helm (+):\n%s", on, d)
		}
	}
}

// TestStandaloneNeedsNoKnative: each object is of a kind of Kubernetes or of nodefence.
func TestStandaloneNeedsNoKnative(t *testing.T) {
	got, err := renderAsIs(loaded(t), "default", "")
	must(t, err)
	for _, o := range got {
		if group := o.GroupVersionKind().Group; strings.Contains(group, "knative") {
			t.Errorf("%s is an object of Knative", manifests.ID(o))
		}
	}
}

// TestValuesReachTheOneProcess, each in its place.
func TestValuesReachTheOneProcess(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]string{
		"imagePullSecrets: [{name: pull}]":                                     "imagePullSecrets:\n  - name: pull",
		"images: {nodefence-local: {repository: a.example/b, tag: v9}}":        "image: a.example/b:v9",
		"images: {nodefence-local: {repository: a.example/c, tag: v9}}":        "- name: NODEFENCE_NEIGHBORS_IMAGE\n      value: a.example/c:v9",
		"resources: {limits: {memory: 2Gi}}":                                   "resources:\n      limits:\n        memory: 2Gi",
		"affinity: {nodeAffinity: {}}":                                         "affinity:\n    nodeAffinity: {}",
		"priorityClassName: mine":                                              "priorityClassName: mine",
		"podAnnotations: {a: b}":                                               "annotations:\n    a: b",
		"podLabels: {team: infra, nodefence.io/function: other}":               "labels:\n    app.kubernetes.io/part-of: nodefence\n    nodefence.io/function: local\n    team: infra",
		"extraEnv: [{name: HTTPS_PROXY, value: p}]":                            "- name: HTTPS_PROXY\n      value: p",
		"settings: {local: {NODEFENCE_CHECK_INTERVAL: 30m}}":                   "- name: NODEFENCE_CHECK_INTERVAL\n      value: 30m",
		"settings: {all: {NODEFENCE_CLUSTER: prod}}":                           "- name: NODEFENCE_CLUSTER\n      value: prod",
		"components: {remediation: {enabled: true}}":                           "- name: NODEFENCE_REMEDIATION_LEASES\n      value: medik8s-leases",
		"deviceCallSeconds: 60":                                                "terminationGracePeriodSeconds: 75",
		"nodeSelector: {role: infra}":                                          "nodeSelector:\n    role: infra",
		"tolerations: [{key: infra, operator: Exists}]":                        "- key: infra\n    operator: Exists",
		"namespaces: {system: fence, devices: fence-bmcs, checks: fence-jobs}": "- name: NODEFENCE_SECRETS_NAMESPACE\n      value: fence-bmcs",
	} {
		got, err := renderAsIs(c, "default", values)
		must(t, err)
		if text := pods(t, got)["local"]; !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", values, want, text)
		}
	}
	got, err := renderAsIs(c, "default", "replicas: 1")
	must(t, err)
	for _, o := range got {
		if o.GetKind() == "Deployment" && o.Object["spec"].(map[string]any)["replicas"] != 1.0 {
			t.Errorf("replicas: %v", o.Object["spec"].(map[string]any)["replicas"])
		}
	}
}

// TestAServiceMonitorReadsTheOneProcess by a Service of the same labels, and with the labels that a Prometheus asks for.
func TestAServiceMonitorReadsTheOneProcess(t *testing.T) {
	got, err := renderAsIs(loaded(t), "default", "serviceMonitor: true\nmonitoringLabels: {release: prom}\nnamespaces: {system: fence}")
	must(t, err)
	found := map[string]manifests.Object{}
	for _, o := range got {
		if o.GetNamespace() == "fence" && o.GetName() != "nodefence-requests" && (o.GetKind() == "Service" || o.GetKind() == "ServiceMonitor") {
			found[o.GetKind()] = o
		}
	}
	service, monitor := found["Service"], found["ServiceMonitor"]
	if len(found) != 2 || count(got, "Service") != 2 || count(got, "PodMonitor") != 0 {
		t.Fatalf("%v", found)
	}
	selects, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if d := cmp.Diff(service.GetLabels(), selects); d != "" {
		t.Errorf("labels of the Service (-), selected (+):\n%s", d)
	}
	if d := cmp.Diff(map[string]string{"release": "prom", "app.kubernetes.io/part-of": "nodefence"}, monitor.GetLabels()); d != "" {
		t.Error(d)
	}
	pods, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	if pods["nodefence.io/function"] != "local" {
		t.Errorf("the Service has pods %v", pods)
	}
}

// TestValuesOfAnotherPlatform are refused, with the platform that has them.
func TestValuesOfAnotherPlatform(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]string{
		"components: {far: {enabled: true}}":                         "components.far is for platforms with Knative",
		"components: {kdump: {enabled: true}}":                       "components.kdump is for platforms with Knative",
		"components: {authentication: {enabled: true}}":              "components.authentication is for platforms with Knative",
		"settings: {gate: {NODEFENCE_CLUSTER: a}}":                   "settings.gate reaches no pod on platform standalone: set settings.local",
		"platform: kafka\nsettings: {local: {NODEFENCE_CLUSTER: a}}": "settings.local reaches no pod on platform kafka",
		"platform: deployments\nreplicas: 3":                         "replicas is for platform standalone",
		"platform: deployments\nextraEnv: [{name: A, value: b}]":     "extraEnv is for platform standalone",
		"platform: serving\nresources: {limits: {memory: 1Gi}}":      "resources is for platform standalone",
		"platform: kafka\nserviceMonitor: true":                      "serviceMonitor is for platform standalone",
		"podMonitor: true\nserviceMonitor: true":                     "would read each pod twice",
		"replicas: 0":                                                "at '/replicas'",
	} {
		_, err := renderAsIs(c, "default", values)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", values, err, want)
		}
	}
}

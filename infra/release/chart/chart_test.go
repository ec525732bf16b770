package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

const root = "../../.."

var source = manifests.Source{Infra: filepath.Join(root, "infra"), Images: manifests.Images{Registry: "registry.example.com/nodefence", Version: "v0.1.0"}}

// once makes the chart for all tests.
var once = sync.OnceValues(func() (archive.Files, error) {
	settings, err := manifests.Settings(root)
	if err != nil {
		return nil, err
	}
	return Make(source, settings)
})

func made(t *testing.T) archive.Files {
	t.Helper()
	files, err := once()
	must(t, err)
	return files
}

func loaded(t *testing.T) *chart.Chart {
	t.Helper()
	var all []*loader.BufferedFile
	for name, text := range made(t) {
		all = append(all, &loader.BufferedFile{Name: strings.TrimPrefix(name, Name+"/"), Data: text})
	}
	c, err := loader.LoadFiles(all)
	must(t, err)
	return c
}

// render is what `helm template` makes of values, which are YAML. Without a platform it is that for Deployments.
func render(c *chart.Chart, namespace, values string) ([]manifests.Object, error) {
	if !strings.Contains(values, "platform:") {
		values = "platform: deployments\n" + values
	}
	return renderAsIs(c, namespace, values)
}

// renderAsIs is what `helm template` makes of values, which are YAML.
func renderAsIs(c *chart.Chart, namespace, values string) ([]manifests.Object, error) {
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		return nil, err
	}
	v, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "nodefence", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(c, v)
	if err != nil {
		return nil, err
	}
	var all []manifests.Object
	for _, doc := range strings.Split("\n"+out["nodefence/templates/nodefence.yaml"], "\n---\n") {
		var o manifests.Object
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			return nil, err
		}
		if o.Object != nil {
			all = append(all, o)
		}
	}
	return all, nil
}

// said is what kustomize says for the same: the kinds, the namespaces, an overlay and components.
func said(t *testing.T, platform string, components ...string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, folder := range []string{"crd", "namespaces"} {
		objects, err := source.Folder(folder)
		must(t, err)
		for _, o := range objects {
			keep(o)
			all[manifests.ID(o)] = o.Object
		}
	}
	objects, err := source.Platform(platform, components...)
	must(t, err)
	for _, o := range objects {
		if sorted(o); o.GetKind() == "Namespace" {
			keep(o)
		}
		all[manifests.ID(o)] = o.Object
	}
	return all
}

// keep says that Helm keeps an object.
func keep(o manifests.Object) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a["helm.sh/resource-policy"] = "keep"
	o.SetAnnotations(a)
}

// sorted puts variables in one order: none of them is made of another.
func sorted(o manifests.Object) {
	pods, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec", "containers")
	all, _ := pods.([]any)
	for _, c := range all {
		env, _ := c.(map[string]any)["env"].([]any)
		slices.SortFunc(env, func(a, b any) int {
			return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
		})
	}
}

func byID(t *testing.T, objects []manifests.Object) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, o := range objects {
		if all[manifests.ID(o)] != nil {
			t.Errorf("%s is there twice", manifests.ID(o))
		}
		sorted(o)
		all[manifests.ID(o)] = o.Object
	}
	return all
}

// TestTheChartSaysWhatTheOverlaySays, object by object and field by field: on each platform, with
// each component, and with all of them.
func TestTheChartSaysWhatTheOverlaySays(t *testing.T) {
	c := loaded(t)
	every, err := Components(source.Infra)
	must(t, err)
	for _, platform := range manifests.Platforms {
		sets := [][]string{nil, every, {"authentication", "kdump"}}
		for _, one := range every {
			if one == "machinehealthcheck" {
				sets = append(sets, []string{one, "machines"})
			} else {
				sets = append(sets, []string{one})
			}
		}
		for _, on := range sets {
			t.Run(platform+" "+strings.Join(on, " "), func(t *testing.T) {
				values := "platform: " + platform + "\ncomponents:\n"
				for _, name := range on {
					values += "  " + name + ": {enabled: true}\n"
				}
				if len(on) == 0 {
					values = "platform: " + platform
				}
				got, err := render(c, "default", values)
				must(t, err)
				if d := cmp.Diff(said(t, platform, on...), byID(t, got)); d != "" {
					t.Errorf("kustomize (-), Helm (+):\n%s", d)
				}
			})
		}
	}
	if got, err := renderAsIs(c, "default", ""); err != nil || cmp.Diff(said(t, manifests.Standalone), byID(t, got)) != "" {
		t.Errorf("without values it is not standalone: %v", err)
	}
}

// TestHelmHasNothingToSay of the chart: no error, and no warning.
func TestHelmHasNothingToSay(t *testing.T) {
	dir := t.TempDir()
	for name, text := range made(t) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	for _, m := range lint.All(filepath.Join(dir, Name), nil, "default", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// TestEachComponentHasAValue, and is off.
func TestEachComponentHasAValue(t *testing.T) {
	every, err := Components(source.Infra)
	must(t, err)
	is := map[string]bool{}
	for _, name := range every {
		is[name] = false
	}
	has := map[string]bool{}
	for name, c := range loaded(t).Values["components"].(map[string]any) {
		has[name] = c.(map[string]any)["enabled"].(bool)
	}
	if d := cmp.Diff(is, has); d != "" {
		t.Errorf("components of infra/knative (-), values (+):\n%s", d)
	}
}

// TestValuesAreRefused with words that say what is wrong, and where.
func TestValuesAreRefused(t *testing.T) {
	c := loaded(t)
	for values, want := range map[string]string{
		"platform: lambda":                                          "at '/platform': value must be one of 'standalone', 'deployments', 'kafka', 'serving'",
		"plattform: kafka":                                          "additional properties 'plattform' not allowed",
		"images: {nodefence: {tag: latest}}":                        "at '/images/nodefence/tag'",
		"images: {nodefence: {digest: abc}}":                        "at '/images/nodefence/digest'",
		"images: {nodefence: {repository: \"Not One\"}}":            "at '/images/nodefence/repository'",
		"images: {nodefenze: {tag: v1}}":                            "additional properties 'nodefenze' not allowed",
		"settings: {gate: {NODEFENCE_JOB_IMAGE: x}}":                "NODEFENCE_JOB_IMAGE",
		"settings: {gate: {NODE_NAME: none}}":                       "NODE_NAME",
		"settings: {gates: {}}":                                     "additional properties 'gates' not allowed",
		"settings: {power: {NODEFENCE_KUBELET_PORT: 10250}}":        "at '/settings/power/NODEFENCE_KUBELET_PORT': got number, want string",
		"components: {far: {enabled: \"yes\"}}":                     "at '/components/far/enabled': got string, want boolean",
		"components: {fare: {enabled: true}}":                       "additional properties 'fare' not allowed",
		"components: {machinehealthcheck: {enabled: true}}":         "components.machinehealthcheck takes components.machines too",
		"namespaces: {system: Not_one}":                             "at '/namespaces/system'",
		"kinds: {install: 1}":                                       "at '/kinds/install': got number, want boolean",
		"openshift: \"yes\"":                                        "at '/openshift': got string, want boolean",
		"monitoringLabels: {release: 1}":                            "at '/monitoringLabels/release': got number, want string",
		"deviceCallSeconds: 0":                                      "at '/deviceCallSeconds'",
		"deviceCallSeconds: 121":                                    "at '/deviceCallSeconds'",
		"deviceCallSeconds: 60s":                                    "at '/deviceCallSeconds': got string, want integer",
		"imagePullSecrets: [pull]":                                  "at '/imagePullSecrets/0': got string, want object",
		"nodeSelector: {a: 1}":                                      "at '/nodeSelector/a': got number, want string",
		"components: {far: {enabled: true, namespaces: somewhere}}": "additional properties 'namespaces' not allowed",
	} {
		_, err := render(c, "default", values)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", values, err, want)
		}
	}
}

// pods are the pods of an output, by their part.
func pods(t *testing.T, objects []manifests.Object) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range objects {
		template, is, _ := unstructured.NestedMap(o.Object, "spec", "template")
		if !is {
			continue
		}
		text, err := yaml.Marshal(template)
		must(t, err)
		part := template["metadata"].(map[string]any)["labels"].(map[string]any)["nodefence.io/function"].(string)
		all[part] = string(text)
	}
	return all
}

// TestValuesReachThePods: each value changes the pods that it is about, and no other.
func TestValuesReachThePods(t *testing.T) {
	c := loaded(t)
	plain, err := render(c, "default", "components: {far: {enabled: true}, kdump: {enabled: true}}")
	must(t, err)
	before := pods(t, plain)
	functions := []string{"adopt", "cleanup", "deadletter", "gate", "isolate", "policystatus", "power", "recover", "request", "resync"}
	every := append([]string{"kdump", "source"}, functions...)
	digest := "sha256:" + strings.Repeat("ab", 32)
	for values, want := range map[string]struct {
		in   []string
		text string
	}{
		"images: {nodefence: {repository: a.example/b, tag: v9}}":                {functions, "image: a.example/b:v9"},
		"images: {nodefence: {digest: \"" + digest + "\"}}":                      {functions, "image: registry.example.com/nodefence/nodefence@" + digest},
		"images: {nodefence-source: {tag: v9}}":                                  {[]string{"source"}, "image: registry.example.com/nodefence/nodefence-source:v9"},
		"images: {nodefence-kdump: {tag: v9}}":                                   {[]string{"kdump"}, "image: registry.example.com/nodefence/nodefence-kdump:v9"},
		"settings: {all: {NODEFENCE_CLUSTER: prod}}":                             {every, "- name: NODEFENCE_CLUSTER\n      value: prod"},
		"settings: {power: {NODEFENCE_KUBELET_PORT: \"10251\"}}":                 {[]string{"power"}, "value: \"10251\""},
		"settings: {resync: {NODEFENCE_DIRECT: \"https://x\"}}":                  {[]string{"resync"}, "value: https://x"},
		"settings: {all: {NODEFENCE_ADOPT: \"\"}, gate: {NODEFENCE_ADOPT: mhc}}": {every, "- name: NODEFENCE_ADOPT\n      value: "},
		"imagePullSecrets: [{name: pull}]":                                       {every, "imagePullSecrets:\n  - name: pull"},
		"nodeSelector: {role: infra}":                                            {every, "nodeSelector:\n    role: infra"},
		"tolerations: [{key: infra, operator: Exists}]":                          {every, "- key: infra\n    operator: Exists"},
	} {
		got, err := render(c, "default", "components: {far: {enabled: true}, kdump: {enabled: true}}\n"+values)
		must(t, err)
		for part, text := range pods(t, got) {
			switch in := slices.Contains(want.in, part); {
			case in && !strings.Contains(text, want.text):
				t.Errorf("%s: %s has no %q:\n%s", values, part, want.text, text)
			case !in && text != before[part]:
				t.Errorf("%s changes %s:\n%s", values, part, cmp.Diff(before[part], text))
			}
		}
	}
}

// TestNeighborsRunTheImageOfTheGate, by whatever name it goes.
func TestNeighborsRunTheImageOfTheGate(t *testing.T) {
	got, err := render(loaded(t), "default", "images: {nodefence: {repository: a.example/b, tag: v9}}")
	must(t, err)
	if text := pods(t, got)["gate"]; !strings.Contains(text, "- name: NODEFENCE_NEIGHBORS_IMAGE\n      value: a.example/b:v9") {
		t.Error(text)
	}
}

// TestOtherNamespaces: no object is left in, and no account named of, the usual ones, and the
// programs are told.
func TestOtherNamespaces(t *testing.T) {
	got, err := render(loaded(t), "default", "namespaces: {system: fence, devices: bmcs, checks: fence-jobs}")
	must(t, err)
	for _, o := range got {
		if o.GetKind() == "CustomResourceDefinition" {
			continue // its words
		}
		text, err := yaml.Marshal(o.Object)
		must(t, err)
		for _, usual := range []string{"nodefence-system", "nodefence-devices", "nodefence-checks"} {
			if strings.Contains(string(text), usual) {
				t.Errorf("%s still says %s", manifests.ID(o), usual)
			}
		}
	}
	for part, text := range pods(t, got) {
		for name, value := range map[string]string{"NODEFENCE_NAMESPACE": "fence", "NODEFENCE_REQUEST_NAMESPACES": "fence", "NODEFENCE_SECRETS_NAMESPACE": "bmcs", "NODEFENCE_CHECKS_NAMESPACE": "fence-jobs"} {
			if !strings.Contains(text, fmt.Sprintf("- name: %s\n      value: %s\n", name, value)) {
				t.Errorf("%s is not told %s", part, name)
			}
		}
	}
}

// TestWhatIsLeftOut: roles, kinds and namespaces that somebody else applies, and the namespace that
// Helm makes itself.
func TestWhatIsLeftOut(t *testing.T) {
	c := loaded(t)
	count := func(namespace, values, kind, name string) (n int) {
		got, err := render(c, namespace, values)
		must(t, err)
		for _, o := range got {
			if o.GetKind() == kind && strings.HasPrefix(o.GetName(), name) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		namespace, values, kind, name string
		want                          int
	}{
		{"default", "", "ClusterRole", "nodefence-operate", 1},
		{"default", "peopleRoles: false", "ClusterRole", "nodefence-operate", 0},
		{"default", "", "CustomResourceDefinition", "", 10},
		{"default", "kinds: {install: false}", "CustomResourceDefinition", "", 0},
		{"default", "", "Namespace", "", 3},
		{"nodefence-system", "", "Namespace", "", 2},
		{"default", "namespaces: {create: false}", "Namespace", "", 0},
		{"default", "components: {far: {enabled: true, namespace: medik8s}}", "Role", "nodefence-far", 2},
		{"default", "components: {far: {enabled: true, namespace: medik8s}}", "ClusterRole", "nodefence-far-node-health-check", 1},
	} {
		if got := count(c.namespace, c.values, c.kind, c.name); got != c.want {
			t.Errorf("in %s with %q: %d %s %s, want %d", c.namespace, c.values, got, c.kind, c.name, c.want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

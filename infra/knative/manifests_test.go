package knative

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOneCommandDeletesOneThing: what runs, the kinds, and the namespaces with what
// users wrote are applied by a command each, so that no deletion takes another's along.
func TestOneCommandDeletesOneThing(t *testing.T) {
	own := regexp.MustCompile(`(?m)^kind: (Namespace|CustomResourceDefinition)$`)
	kinds := map[string]map[string]bool{}
	for name, text := range manifests(t) {
		for _, m := range own.FindAllStringSubmatch(text, -1) {
			folder := strings.SplitN(name, "/", 2)[0]
			if strings.HasPrefix(name, "knative/components/") || name == "aws/cluster/jobs/rights.yaml" {
				continue // namespaces in which users write nothing
			}
			if kinds[folder] == nil {
				kinds[folder] = map[string]bool{}
			}
			kinds[folder][m[1]] = true
		}
		if filepath.Base(name) != "kustomization.yaml" {
			continue
		}
		var k struct{ Resources []string }
		if err := yaml.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(name, err)
		}
		for _, r := range k.Resources {
			if at := filepath.Join(filepath.Dir(name), r); at == "crd" || at == "namespaces" {
				t.Errorf("%s brings %s along, and would take it away", name, at)
			}
		}
	}
	if len(kinds) != 2 || !kinds["namespaces"]["Namespace"] || len(kinds["namespaces"]) != 1 || len(kinds["crd"]) != 1 || !kinds["crd"]["CustomResourceDefinition"] {
		t.Errorf("namespaces and kinds stand in %v", kinds)
	}
}

// TestWhoEditsWorkloadsOnlyReads: what aggregates to Kubernetes' view and edit writes
// nothing of nodefence's, and asks for no fence (S20).
func TestWhoEditsWorkloadsOnlyReads(t *testing.T) {
	roles, _ := rights(t, "../people/people.yaml")
	if r := roles["ClusterRole//nodefence-operate"]; len(r.Rules) == 0 || len(r.Metadata.Labels) > 0 {
		t.Errorf("nodefence-operate is to be bound on purpose, and is %+v", r)
	}
	for name, r := range roles {
		for _, to := range []string{"view", "edit"} {
			if r.Metadata.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] == "" {
				continue
			}
			for _, rule := range r.Rules {
				for _, verb := range rule.Verbs {
					if !slices.Contains([]string{"get", "list", "watch"}, verb) {
						t.Errorf("%s gives %s the verb %s on %v", name, to, verb, rule.Resources)
					}
				}
			}
		}
	}
}

// TestWhoIsOnCallMaySeeWhatTheyDecide: whoever a page gives nodefence-operate by a binding gets there
// what kubectl and the plugin need too: to read NodeFences, nodes and Leases.
func TestWhoIsOnCallMaySeeWhatTheyDecide(t *testing.T) {
	roles, _ := rights(t, "../people/people.yaml")
	bound := regexp.MustCompile(`kubectl create clusterrolebinding \S+ --clusterrole=(\S+) --group=(\S+)`)
	n := 0
	for _, page := range []string{"../INSTALL.md", "../people/people.yaml"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		may := map[string]map[string]bool{}
		for _, m := range bound.FindAllStringSubmatch(string(text), -1) {
			if may[m[2]] == nil {
				may[m[2]] = map[string]bool{}
			}
			for _, rule := range roles["ClusterRole//"+m[1]].Rules {
				for _, r := range rule.Resources {
					for _, verb := range rule.Verbs {
						may[m[2]][verb+" "+r] = true
					}
				}
			}
		}
		for group, may := range may {
			n++
			for _, need := range []string{"get nodefences", "list nodefences", "patch nodefences", "approve nodefences", "list fencepolicies", "get fenceledgers", "list nodes", "list leases"} {
				if !may[need] {
					t.Errorf("%s: %s may not %s", page, group, need)
				}
			}
		}
	}
	if n != 2 {
		t.Errorf("%d groups are bound, want one a page", n)
	}
}

// manifests are all YAML files under infra, by their path in it; the kinds' schemas
// but for their head.
func manifests(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || strings.Contains(path, "aws/template") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasPrefix(d.Name(), "nodefence.io_") {
			text = text[:200]
		}
		out[strings.TrimPrefix(filepath.ToSlash(path), "../")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

package knative

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWhoReadsMachinesReadsThemElsewhere: component managementcluster reaches each function that reads
// Machines. One that it leaves out reads them in the cluster of the nodes, where there are none.
func TestWhoReadsMachinesReadsThemElsewhere(t *testing.T) {
	text, err := os.ReadFile("components/managementcluster/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var component struct {
		Patches []struct {
			Target struct{ Kind, Name string }
			Path   string
		}
	}
	if err := yaml.Unmarshal(text, &component); err != nil {
		t.Fatal(err)
	}
	readers := readersOfMachines(t)
	for _, kind := range []string{"Service", "Deployment"} {
		var mounts []string
		for _, p := range component.Patches {
			if p.Target.Kind == kind && p.Path == "mount.yaml" {
				mounts = append(mounts, p.Target.Name)
			}
		}
		reached := regexp.MustCompile("^(" + strings.Join(mounts, "|") + ")$") // as kustomize anchors a target's name
		for _, name := range readers {
			if len(mounts) == 0 || !reached.MatchString(name) {
				t.Errorf("%s %s reads Machines, and the mount does not reach it: %v", kind, name, mounts)
			}
		}
	}
	// The overlay that the comment tells to write sets the Cluster of the same.
	if told := regexp.MustCompile(`(?m)^#\s+- target: \{name: (\S+), kind: Deployment\}`).FindSubmatch(text); told == nil || string(told[1]) != component.Patches[1].Target.Name {
		t.Errorf("the comment's overlay is about %q, and the mount about %q", told, component.Patches[1].Target.Name)
	}
}

// readersOfMachines are the accounts that may read Machines, named as their functions.
func readersOfMachines(t *testing.T) (all []string) {
	t.Helper()
	roles, bindings := rights(t, "../accounts/rights.yaml")
	for _, b := range bindings {
		for _, rule := range roles[b.RoleRef.Kind+"/"+b.Metadata.Namespace+"/"+b.RoleRef.Name].Rules {
			if slices.Contains(rule.Resources, "machines") {
				all = append(all, b.Subjects[0].Name)
			}
		}
	}
	if !slices.Contains(all, "nodefence-policystatus") {
		t.Fatalf("only %v read Machines", all)
	}
	return all
}

package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	opmanifests "github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

var source = manifests.Source{Infra: "../../../infra", Images: manifests.Images{Registry: "registry.example.com/nodefence", Version: "v0.1.0"}}

// loaded is the bundle as the Operator Framework reads it.
func loaded(t *testing.T) (*Bundle, *opmanifests.Bundle) {
	t.Helper()
	b, err := Make(source, "0.1.0")
	must(t, err)
	dir := t.TempDir()
	for name, text := range b.Files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	read, err := opmanifests.GetBundleFromDir(dir)
	must(t, err)
	return b, read
}

// TestTheOperatorFrameworkTakesIt: its own validators find no error. Their warnings are compared, so
// that none comes unnoticed. One is no fault: they take the right to read PodDisruptionBudgets for a
// right to read policy/v1beta1.
func TestTheOperatorFrameworkTakesIt(t *testing.T) {
	_, read := loaded(t)
	all := interfaces.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.ObjectValidator, validation.GoodPracticesValidator,
	}
	var warned []string
	for _, r := range all.Validate(read.ObjectsToValidate()...) {
		for _, e := range r.Errors {
			t.Error(e)
		}
		for _, w := range r.Warnings {
			if strings.Contains(w.Detail, "Migrate the API(s) for poddisruptionbudgets: ") {
				continue
			}
			warned = append(warned, fmt.Sprint(w.Detail, " ", w.BadValue))
		}
	}
	want := []string{
		"(nodefence.v0.1.0) csv.Spec.Icon not specified ",   // there is none
		"(nodefence.v0.1.0) example annotations not found ", // it owns no kind to have examples of
	}
	slices.Sort(warned)
	if d := cmp.Diff(want, warned); d != "" {
		t.Error(d)
	}
}

// TestNothingIsDropped: each object of the overlay is in the bundle, in the ClusterServiceVersion, or
// in the rest.
func TestNothingIsDropped(t *testing.T) {
	b, read := loaded(t)
	has := map[string]bool{}
	for _, o := range read.Objects {
		has[o.GetKind()+"/"+o.GetName()] = true
	}
	for _, o := range b.Rest {
		has[manifests.ID(o)] = true
	}
	spec := read.CSV.Spec.InstallStrategy.StrategySpec
	for _, d := range spec.DeploymentSpecs {
		has["Deployment/"+d.Name] = true
	}
	for _, p := range append(spec.ClusterPermissions, spec.Permissions...) {
		has["ServiceAccount/"+p.ServiceAccountName] = true
	}
	objects, err := source.Platform("deployments")
	must(t, err)
	bound := boundRoles(objects)
	for _, o := range objects {
		inCSV := o.GetKind() == "ClusterRole" && bound[o.GetName()] || o.GetKind() == "ClusterRoleBinding"
		if !inCSV && !has[o.GetKind()+"/"+o.GetName()] && !has[manifests.ID(o)] {
			t.Errorf("%s is nowhere", manifests.ID(o))
		}
	}
}

// TestRightsAreThoseOfTheOverlay: each account has in the bundle what its ClusterRoles of
// infra/knative say, rule by rule, and the rules of no Role.
func TestRightsAreThoseOfTheOverlay(t *testing.T) {
	_, read := loaded(t)
	spec := read.CSV.Spec.InstallStrategy.StrategySpec
	got := map[string][]rbacv1.PolicyRule{}
	for _, p := range spec.ClusterPermissions {
		got[p.ServiceAccountName] = append(got[p.ServiceAccountName], p.Rules...)
	}
	objects, err := source.Platform("deployments")
	must(t, err)
	rules := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" {
			var r rbacv1.ClusterRole
			must(t, into(o, &r))
			rules[r.Name] = r.Rules
		}
	}
	want := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects {
		if b, is := clusterBinding(o); is {
			for _, who := range b.Subjects {
				want[who.Name] = append(want[who.Name], rules[b.RoleRef.Name]...)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rules of infra/knative (-), of the bundle (+):\n%s", d)
	}
	if len(spec.Permissions) > 0 {
		t.Errorf("OLM gives these in every namespace, not in their own: %v", spec.Permissions)
	}
}

// TestOLMGivesNoFurtherRights: of a kind that the bundle owns, OLM would let Kubernetes' admin do all
// and edit write (S20). So it owns none. Roles are applied beside it, and kinds and Namespaces by
// files of their own, so that nobody deletes these along with what runs.
func TestOLMGivesNoFurtherRights(t *testing.T) {
	b, read := loaded(t)
	if kinds := read.CSV.Spec.CustomResourceDefinitions; len(kinds.Owned)+len(kinds.Required)+len(read.V1CRDs) > 0 {
		t.Errorf("the bundle owns or requires %v, and has %d kinds", kinds, len(read.V1CRDs))
	}
	objects, err := source.Platform("deployments")
	must(t, err)
	roles := func(all []manifests.Object) (ids []string) {
		for _, o := range all {
			switch o.GetKind() {
			case "Role", "RoleBinding":
				ids = append(ids, manifests.ID(o))
			case "Namespace", "CustomResourceDefinition":
				t.Errorf("%s stands beside what runs", manifests.ID(o))
			}
		}
		return ids
	}
	want := roles(objects)
	if d := cmp.Diff(want, roles(b.Rest)); d != "" || len(want) < 20 {
		t.Errorf("%d Roles and bindings of the overlay (-), beside the bundle (+):\n%s", len(want), d)
	}
}

// TestPodsTakeAnyUser: OpenShift's SCC restricted-v2 refuses pods that name one. None is root.
func TestPodsTakeAnyUser(t *testing.T) {
	_, read := loaded(t)
	all := read.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if len(all) != 10 {
		t.Fatalf("%d Deployments, want nine functions and the source", len(all))
	}
	for _, d := range all {
		pod := d.Spec.Template.Spec
		text, err := yaml.Marshal(pod)
		must(t, err)
		if strings.Contains(string(text), "runAsUser") || pod.SecurityContext == nil || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s names a user, or may be root:\n%s", d.Name, text)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
	want := []string{"(nodefence.v0.1.0) csv.Spec.Icon not specified "} // there is none
	for _, kind := range []string{"FenceLedger", "FenceTarget", "NodeFence"} {
		// people create none: nodefence does
		want = append(want, "provided API should have an example annotation nodefence.io/v1alpha1, Kind="+kind)
	}
	slices.Sort(warned)
	if d := cmp.Diff(want, warned); d != "" {
		t.Error(d)
	}
}

// TestNothingIsDropped: each object of the overlay, of the kinds and of the namespaces is in the
// bundle, in the ClusterServiceVersion, or in the rest.
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
	var all []manifests.Object
	for _, folder := range []string{"crd", "namespaces"} {
		objects, err := source.Folder(folder)
		must(t, err)
		all = append(all, objects...)
	}
	objects, err := source.Platform("deployments")
	must(t, err)
	bound := boundRoles(append(all, objects...))
	for _, o := range append(all, objects...) {
		inCSV := bound[key(o.GetKind(), o.GetNamespace(), o.GetName())] || o.GetKind() == "ClusterRoleBinding" || o.GetKind() == "RoleBinding" && o.GetNamespace() == Namespace
		if !inCSV && !has[o.GetKind()+"/"+o.GetName()] && !has[manifests.ID(o)] {
			t.Errorf("%s is nowhere", manifests.ID(o))
		}
	}
}

// TestRightsAreThoseOfTheOverlay: each account may do in the bundle, with the rest, what its roles of
// infra/knative say, rule by rule.
func TestRightsAreThoseOfTheOverlay(t *testing.T) {
	_, read := loaded(t)
	got := map[string]int{}
	spec := read.CSV.Spec.InstallStrategy.StrategySpec
	for where, all := range map[string]int{"cluster": len(spec.ClusterPermissions), "own": len(spec.Permissions)} {
		if all == 0 {
			t.Errorf("no account has a right (%s)", where)
		}
	}
	for _, p := range append(spec.ClusterPermissions, spec.Permissions...) {
		got[p.ServiceAccountName] += len(p.Rules)
	}
	want := map[string]int{}
	objects, err := source.Platform("deployments")
	must(t, err)
	rules := map[string]int{}
	for _, o := range objects {
		if strings.HasSuffix(o.GetKind(), "Role") {
			all, _ := o.Object["rules"].([]any)
			rules[key(o.GetKind(), o.GetNamespace(), o.GetName())] = len(all)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ServiceAccount" {
			want[o.GetName()] += 0
		}
		b, is := binding(o)
		if !is || o.GetKind() == "RoleBinding" && o.GetNamespace() != Namespace {
			continue
		}
		for _, who := range b.Subjects {
			want[who.Name] += rules[key(b.RoleRef.Kind, o.GetNamespace(), b.RoleRef.Name)]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rules of infra/knative (-), of the bundle (+):\n%s", d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

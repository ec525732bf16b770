package starter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestEveryKind is a policy that nodefence understands, that acts on nothing before a person has
// said so, and that says which nodes it means.
func TestEveryKind(t *testing.T) {
	if d := cmp.Diff([]string{"cattle", "cloud", "control-plane", "metal"}, Kinds()); d != "" {
		t.Error(d)
	}
	for _, kind := range Kinds() {
		var b strings.Builder
		if err := Write(&b, kind, Options{}); err != nil {
			t.Fatal(err)
		}
		var p api.FencePolicy
		if err := yaml.UnmarshalStrict([]byte(b.String()), &p); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if p.Name != kind || p.Spec.Mode == api.ModeEnforce {
			t.Errorf("%s: name %s, mode %s", kind, p.Name, p.Spec.Mode)
		}
		cp, worker := map[string]string{api.ControlPlaneLabel: ""}, map[string]string{"a": "b"}
		ofCP := kind == "control-plane"
		if policy.Selects(p.Spec.Selector, cp) != ofCP || policy.Selects(p.Spec.Selector, worker) == ofCP {
			t.Errorf("%s selects %v", kind, p.Spec.Selector)
		}
		if words := policy.NotUnderstood([]api.FencePolicy{p}, worker, nil); words != nil {
			t.Errorf("%s is not understood: %v", kind, words.NotUnderstood)
		}
		labels := worker
		if ofCP {
			labels = cp
		}
		r, _ := policy.ResolvePolicy([]api.FencePolicy{p}, "n", labels)
		if n := r.Settings.PerNode; r.Settings.Action == api.ActionReboot && n.OnLast != api.OnLastHold && n.CutsPerDay < 2 {
			t.Errorf("%s says Reboot, and leaves the machine off after the first cut", kind)
		}
	}
}

// TestWhatIsAskedFor: another name, other nodes; and what can't be read is refused.
func TestWhatIsAskedFor(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, "metal", Options{Name: "db", Selector: "pool in (db,cache),!x"}); err != nil {
		t.Fatal(err)
	}
	var p api.FencePolicy
	if err := yaml.UnmarshalStrict([]byte(b.String()), &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "db" || !policy.Selects(p.Spec.Selector, map[string]string{"pool": "db"}) || policy.Selects(p.Spec.Selector, map[string]string{"pool": "db", "x": ""}) {
		t.Errorf("%+v", p.Spec.Selector)
	}
	for kind, o := range map[string]Options{"boat": {}, "../starter": {}, "metal": {Selector: "a in b"}} {
		if err := Write(&b, kind, o); err == nil || !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("%s, %v: %v", kind, o, err)
		}
	}
}

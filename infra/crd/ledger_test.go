package crd_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestTheShippedLedgerOwnsNoBrake: whoever applies the manifests again, to upgrade while
// everything is stopped, must not let it go on. What an object that is applied does not
// name stays as a person has set it. The label has the API server record whose a stop is.
func TestTheShippedLedgerOwnsNoBrake(t *testing.T) {
	raw, err := os.ReadFile("ledger/ledger.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "nodefence.io/v1alpha1", "kind": "FenceLedger", "metadata": map[string]any{
		"name": "cluster", "labels": map[string]any{"app.kubernetes.io/part-of": "nodefence"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

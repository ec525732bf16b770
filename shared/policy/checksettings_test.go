package policy_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestWhatAPolicyLeavesOut: a Go client that leaves a field out sends nothing for it, and the API server puts its
// default in. A policy that never passed an API server must resolve to the same. Were a default a zero instead, the
// first failed round would be death, or a dump not waited for. Action, mode and conditions are set: without an API
// server the most cautious ones hold.
func TestWhatAPolicyLeavesOut(t *testing.T) {
	bare := api.FencePolicySpec{
		Selector: policy.EveryNode, Action: api.ActionReboot, Mode: api.ModeRequireApproval,
		ActivityChecks: &api.ActivityChecks{Checks: []api.ActivityCheck{{Type: api.CheckNeighbors, Neighbors: &api.NeighborsCheck{}}}},
		StorageCheck:   &api.StorageCheck{Type: api.StorageTCP, TCP: &api.TCPCheck{Address: "s:1"}}, Kdump: &api.KdumpRule{},
		EarlyProbe: &api.EarlyProbe{}, Drain: &api.Drain{}, Isolation: &api.Isolation{}, Power: &api.Power{}, Release: &api.Release{}, Recovery: &api.Recovery{},
		UnhealthyConditions: []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}, Limits: api.Limits{PerNode: &api.PerNode{}},
	}
	text, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	var sent any
	if err := json.Unmarshal(text, &sent); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(putIn(schemaOfPolicies(t), sent)); err != nil {
		t.Fatal(err)
	}
	var served api.FencePolicySpec
	if err := yaml.UnmarshalStrict(text, &served); err != nil {
		t.Fatal(err)
	}
	if n := served.ActivityChecks.FailedRounds; n == nil || *n != 8 {
		t.Errorf("failedRounds that is left out is sent as %v", n)
	}
	resolved := func(spec api.FencePolicySpec) api.ResolvedPolicy {
		r, _ := policy.ResolvePolicy([]api.FencePolicy{{Spec: spec}}, "n", nil)
		return r
	}
	if diff := cmp.Diff(resolved(served), resolved(bare)); diff != "" {
		t.Errorf("the API server's defaults and the gate's (-server +gate):\n%s", diff)
	}
}

// schemaOfPolicies is that of their spec.
func schemaOfPolicies(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../infra/crd/nodefence.io_fencepolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct{ Spec map[string]any }
					} `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec
}

// putIn puts a schema's defaults into what an object leaves out, as the API server does.
func putIn(schema map[string]any, value any) any {
	switch v := value.(type) {
	case map[string]any:
		fields, _ := schema["properties"].(map[string]any)
		for name, field := range v {
			if f, ok := fields[name].(map[string]any); ok {
				v[name] = putIn(f, field)
			}
		}
		for name, field := range fields {
			if f, ok := field.(map[string]any); ok && v[name] == nil && f["default"] != nil && schema["type"] == "object" {
				v[name] = f["default"]
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range v {
			v[i] = putIn(items, v[i])
		}
	}
	return value
}

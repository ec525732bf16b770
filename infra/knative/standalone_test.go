package knative

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestStandaloneActsAsEachAccount, by name, and its account may do nothing else (S20: Kubernetes says who may ask).
func TestStandaloneActsAsEachAccount(t *testing.T) {
	roles, bindings := rights(t, "../standalone/rights.yaml")
	want := map[string]role{}
	for key, r := range roles {
		r.Rules = []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"},
			ResourceNames: slices.Sorted(maps.Keys(rightsByAccount(t, "../accounts/rights.yaml"))),
		}}
		want[key] = r
	}
	if d := cmp.Diff(want, roles); d != "" || len(roles) != 1 || len(bindings) != 1 {
		t.Errorf("%d roles, %d bindings; want (-), got (+):\n%s", len(roles), len(bindings), d)
	}
}

package v1alpha1

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestLimitsThatAreLeftOut are not sent, so that a Go client gets the API server's defaults
// as YAML does: a zero value switches no brake off.
func TestLimitsThatAreLeftOut(t *testing.T) {
	for want, v := range map[string]any{
		`{"maxRate":{"count":1,"period":"1h"}}`:    Limits{MaxRate: &Rate{Count: 1, Period: "1h"}},
		`{"topologyKey":"rack","maxConcurrent":1}`: DomainLimits{TopologyKey: "rack", MaxConcurrent: new(int32(1))},
		`{"minAvailable":2}`:                       FenceBudgetSpec{MinAvailable: new(intstr.FromInt32(2))},
		`{"maxConcurrent":2,"stormCoolDown":"0s"}`: Limits{MaxConcurrent: new(int32(2)), StormCoolDown: DurationOf(0)},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	}
}

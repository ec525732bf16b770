package gauges_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARefutedCutIsShown until a person trusts the device, or its record is gone. A standby shows none, and forgets all.
func TestARefutedCutIsShown(t *testing.T) {
	g := showing(nil)
	g.Leads(true)
	shows := func(want map[string]float64) {
		t.Helper()
		check(t, only(values(t, g), "nodefence_cuts_refuted"), want)
	}
	shows(map[string]float64{})
	refuted := func(node string) *api.NodeFence {
		f := &api.NodeFence{}
		f.Name, f.Status.Refuted = node, &api.Refutation{At: *ago(time.Minute)}
		return f
	}
	for _, node := range []string{"a", "b", "c"} {
		g.Fence(refuted(node))
	}
	shows(map[string]float64{`nodefence_cuts_refuted{node="a"}`: 1, `nodefence_cuts_refuted{node="b"}`: 1, `nodefence_cuts_refuted{node="c"}`: 1})
	trusted := refuted("a")
	trusted.Spec.Trust = &api.Trust{By: "anna", RefutedAt: trusted.Status.Refuted.At}
	g.Fence(trusted)
	g.FenceGone("c")
	shows(map[string]float64{`nodefence_cuts_refuted{node="b"}`: 1})
	g.Leads(false)
	g.Leads(true)
	shows(map[string]float64{})
}

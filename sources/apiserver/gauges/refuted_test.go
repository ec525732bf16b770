package gauges_test

import "testing"

// TestARefutedCutIsShown until a person trusts the device, or its record is gone. A standby shows none, and forgets all.
func TestARefutedCutIsShown(t *testing.T) {
	g := showing(nil)
	g.Leads(true)
	shows := func(want map[string]float64) {
		t.Helper()
		check(t, only(values(t, g), "nodefence_cuts_refuted"), want)
	}
	shows(map[string]float64{})
	g.Refuted("a", true)
	g.Refuted("b", true)
	shows(map[string]float64{`nodefence_cuts_refuted{node="a"}`: 1, `nodefence_cuts_refuted{node="b"}`: 1})
	g.Refuted("a", false)
	shows(map[string]float64{`nodefence_cuts_refuted{node="b"}`: 1})
	g.Leads(false)
	g.Leads(true)
	shows(map[string]float64{})
}

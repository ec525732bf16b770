package metrics

import "testing"

// TestRegister: nodefence_build_info has one series, of value 1, with both labels.
func TestRegister(t *testing.T) {
	reg := NewRegistry()
	all, err := reg.Gather()
	if err != nil || len(all) != 1 || all[0].GetName() != "nodefence_build_info" || len(all[0].GetMetric()) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	m := all[0].GetMetric()[0]
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if m.GetGauge().GetValue() != 1 || labels["version"] == "" || labels["goversion"] == "" || len(labels) != 2 {
		t.Error(m)
	}
}

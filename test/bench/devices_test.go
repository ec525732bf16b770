package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
)

func TestOffReads(t *testing.T) {
	const said = `goos: linux
pkg: github.com/nodefence/nodefence/shared/device/ipmi
BenchmarkOffRead
BenchmarkOffRead/ipmi
BenchmarkOffRead/ipmi-2         	      20	         0.7760 ms/off-read-p50	         4.992 ms/off-read-p95	         1.000 reads/off
BenchmarkSimOffRead
    sim_test.go:22: ipmi_sim is missing: apt-get install openipmi
--- SKIP: BenchmarkSimOffRead
BenchmarkIPMIOffRead/agent/fence_ipmilan 	      20	       708.1 ms/off-read-p50	       992.1 ms/off-read-p95	         1.050 reads/off	       9.023 beside-ms/off-read-p50
BenchmarkOther/ipmi-2 	      20	       7 ms/off-read-p50
PASS
`
	got := &offReads{of: map[string]offRead{}}
	for l := range strings.Lines(said) {
		got.line(strings.TrimSuffix(l, "\n"))
	}
	want := map[string]offRead{
		"ipmi":                {devicetest.P50: 0.776, devicetest.P95: 4.992, devicetest.Reads: 1},
		"agent/fence_ipmilan": {devicetest.P50: 708.1, devicetest.P95: 992.1, devicetest.Reads: 1.05},
		"ipmi/fence_ipmilan":  {devicetest.P50: 9.023},
	}
	if d := cmp.Diff(want, got.of); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"SimOffRead: ipmi_sim is missing: apt-get install openipmi"}, got.skipped); d != "" {
		t.Error(d)
	}
}

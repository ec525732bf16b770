package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestADrillHasPassed only if every step was done.
func TestADrillHasPassed(t *testing.T) {
	drilled := func() *api.NodeFence {
		f := fenceOf("a1", api.Finished, api.Recovered, "back")
		st := &f.Status
		st.Outcome, st.OpenedAt, st.PhaseSince = api.Recovered, at(time.Second), at(13*time.Second)
		st.Power.OffCalls = 1
		st.Power.CutAt, st.Power.OnAt, st.Release.DoneAt = at(2*time.Second), at(9*time.Second), at(8*time.Second)
		st.Proof = &api.Proof{At: *at(7 * time.Second)}
		return &f
	}
	if err := DrillFailed(drilled()); err != nil {
		t.Error(err)
	}
	var got []string
	for _, r := range DrillTable(start, drilled()).Rows {
		got = append(got, r.Cells[0].(string)+" "+r.Cells[2].(string))
	}
	if d := cmp.Diff([]string{"asked 0s", "opened 1s", "power-off sent 2s", "proven off 7s", "released 8s", "power-on sent 9s", "back 13s"}, got); d != "" {
		t.Error(d)
	}
	for never, spoil := range map[string]func(*api.NodeFenceStatus){
		"power-off sent": func(st *api.NodeFenceStatus) { st.Power.OffCalls = 0 },
		"proven off":     func(st *api.NodeFenceStatus) { st.Proof = nil },
		"released":       func(st *api.NodeFenceStatus) { st.Release.DoneAt = nil },
		"power-on sent":  func(st *api.NodeFenceStatus) { st.Power.OnAt = nil },
		"back":           func(st *api.NodeFenceStatus) { st.Outcome = api.Aborted },
	} {
		f := drilled()
		spoil(&f.Status)
		if err := DrillFailed(f); err == nil || !strings.Contains(err.Error(), "never "+never) {
			t.Errorf("%s: %v", never, err)
		}
	}
}

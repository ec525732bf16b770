package gate

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestADryRunAsksTheGate: the first of two dry runs would begin, and the second would be held. Only the list of dry
// runs in the ledger is written: no slot is reserved, and no Lease is taken (S14, S17).
func TestADryRunAsksTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 2, 1)
		b.answers[policyPath] = strings.ReplaceAll(b.answers[policyPath], `"mode":"Enforce"`, `"mode":"DryRun"`)
		for i := range b.fences {
			b.fences[i].Status.Decision.Settings.Mode = api.ModeDryRun
		}
		b.answers[fencesPath] = textOf(t, api.NodeFenceList{Items: b.fences})
		b.before = func(r *http.Request) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/fenceledgers/") {
				t.Errorf("a dry run writes: %s %s", r.Method, r.URL.Path)
			}
		}
		for i, want := range []api.Reason{"", api.TooManyConcurrent} {
			r, err := b.gate.Act(t.Context(), &b.fences[i], fence.DryReserve, observed.Look{})
			got := api.Reason("")
			if r.Verdict != nil {
				got = r.Verdict.Reason
			}
			if err != nil || got != want {
				t.Errorf("fence %d: %v, %+v, want %q", i, err, r.Verdict, want)
			}
		}
		st := b.ledger.Status
		if len(st.DryRuns) != 1 || st.DryRuns[0].NodeName != nameOf(0) || st.DryRuns[0].Drain || len(st.Reservations)+len(st.Admitted)+len(st.UnderWay) > 0 || b.writes != 1 {
			t.Errorf("%d writes, dry runs %+v, slots %+v, begun %+v, under way %+v", b.writes, st.DryRuns, st.Reservations, st.Admitted, st.UnderWay)
		}
		for _, a := range []fence.Action{fence.DryDrain, fence.DryChecks} {
			if r, err := b.gate.Act(t.Context(), &b.fences[0], a, observed.Look{}); err != nil || r.Verdict != nil {
				t.Errorf("%s: %v, %+v", a, err, r.Verdict)
			}
		}
		if st := b.ledger.Status; len(st.DryRuns) != 1 || !st.DryRuns[0].Drain || len(st.Draining)+len(st.Checking) > 0 {
			t.Errorf("dry runs %+v, drains %+v, checks %+v", st.DryRuns, st.Draining, st.Checking)
		}
	})
}

package gauges_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/gauges"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *api.Time {
	t := metav1.NewMicroTime(now.Add(-d))
	return &t
}

// fence is an open one of policy p.
func fence(phase api.Phase, reason api.Reason, opened, since time.Duration) *api.NodeFence {
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}}
	f.Status.FenceNumber, f.Status.Phase, f.Status.Reason = 1, phase, reason
	f.Status.OpenedAt, f.Status.PhaseSince = ago(opened), ago(since)
	f.Status.Decision.Policy.Name = "p"
	if reason == api.WaitingForUncordon {
		f.Status.WaitsFor = api.WaitsForUncordon
	}
	return f
}

// TestWhatALeaderShows: what it sees at the time of the scrape, and nothing that is over.
func TestWhatALeaderShows(t *testing.T) {
	open := map[string]*api.NodeFence{
		"a": fence(api.Pending, api.TooManyUnhealthy, time.Hour, time.Minute),
		"b": fence(api.Pending, api.TooManyUnhealthy, time.Minute, time.Minute),
		"c": fence(api.Fencing, api.PowerOffSent, 9*time.Minute, 30*time.Second),
		"d": fence(api.Pending, api.PolicyConflict, 2*time.Minute, time.Second),
	}
	open["c"].Status.Power.SwitchedByUs = true
	open["d"].Status.Decision.Policy.Name = ""
	g := showing(open)
	got := func() map[string]float64 { return values(t, g) }
	check(t, got(), map[string]float64{"nodefence_source_leads": 0})
	g.Leads(true)
	check(t, got(), map[string]float64{
		"nodefence_source_leads": 1,
		`nodefence_fences_open{phase="Pending",policy="p",to_be_fenced="true"}`:    2,
		`nodefence_fences_open{phase="Pending",policy="none",to_be_fenced="true"}`: 1,
		`nodefence_fences_open{phase="Fencing",policy="p",to_be_fenced="true"}`:    1,
		`nodefence_fences_held{policy="p",reason="TooManyUnhealthy"}`:              2,
		`nodefence_fences_held{policy="none",reason="PolicyConflict"}`:             1,
		`nodefence_fences_begun{policy="p"}`:                                       1,
		`nodefence_oldest_wait_seconds{policy="p",to_be_fenced="true"}`:            3600,
		`nodefence_oldest_wait_seconds{policy="none",to_be_fenced="true"}`:         120,
		`nodefence_oldest_phase_seconds{phase="Pending",policy="p"}`:               60,
		`nodefence_oldest_phase_seconds{phase="Pending",policy="none"}`:            1,
		`nodefence_oldest_phase_seconds{phase="Fencing",policy="p"}`:               30,
	})
	clear(open)
	l := &api.FenceLedger{}
	l.Status.Storms = []api.Storm{{Policy: "p"}, {Policy: "p", TopologyKey: "zone", Domain: "z"}, {Policy: "q", CoolDownUntil: ago(-time.Hour)},
		{Policy: "over", CoolDownUntil: ago(time.Second)}, {Policy: "ended", CoolDownUntil: ago(-time.Minute)}}
	l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "anna", Until: *ago(-time.Minute)}
	g.Ledger(l)
	check(t, got(), map[string]float64{
		"nodefence_source_leads": 1, "nodefence_source_census": 0, "nodefence_stopped": 0, "nodefence_restore_unconfirmed": 0,
		`nodefence_storms{policy="p",state="UnderWay"}`: 2, `nodefence_storms{policy="q",state="CoolDown"}`: 1,
	})
	l = &api.FenceLedger{}
	l.Spec.Stop, l.Status.Restored = true, &api.Restored{SeenAt: *ago(time.Minute), From: "9", To: "4"}
	l.Status.Census = &api.Census{ObservedAt: *ago(time.Second)}
	g.Ledger(l)
	check(t, got(), map[string]float64{"nodefence_source_leads": 1, "nodefence_source_census": 1, "nodefence_stopped": 1, "nodefence_restore_unconfirmed": 1})
	l = l.DeepCopy()
	l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "anna", SeenAt: l.Status.Restored.SeenAt}
	g.Ledger(l)
	check(t, got(), map[string]float64{"nodefence_source_leads": 1, "nodefence_source_census": 1, "nodefence_stopped": 1, "nodefence_restore_unconfirmed": 0})
	g.Leads(false)
	check(t, got(), map[string]float64{"nodefence_source_leads": 0})
}

// TestACensusThatGrowsOldCountsNoMore, also while the ledger can't be read and so nobody notes another one.
func TestACensusThatGrowsOldCountsNoMore(t *testing.T) {
	at := now
	g := gauges.New(func() map[string]*api.NodeFence { return nil }, nil, func() time.Time { return at })
	g.Leads(true)
	l := &api.FenceLedger{}
	l.Status.Census = &api.Census{ObservedAt: *ago(0)}
	g.Ledger(l)
	for _, want := range []float64{1, 0} {
		if got := values(t, g)["nodefence_source_census"]; got != want {
			t.Errorf("after %s it is %v, want %v", at.Sub(now), got, want)
		}
		at = at.Add(admission.CensusKept + time.Second)
	}
}

// TestWhatIsLeftAloneIsToldApart: a fence that may not begin under the policies, or that the gate leaves alone,
// waits for nothing that anybody has to do. What was cut is for somebody to see to.
func TestWhatIsLeftAloneIsToldApart(t *testing.T) {
	in := func(node string, phase api.Phase, why api.Reason, opened time.Duration) *api.NodeFence {
		f := fence(phase, why, opened, time.Second)
		f.Spec.NodeName = node
		return f
	}
	open := map[string]*api.NodeFence{
		"a": in("spared", api.Pending, api.DryRun, time.Hour),
		"b": in("spared", api.Failed, api.BindingInvalid, time.Hour),
		"c": in("n", api.Pending, api.Excluded, 2*time.Hour),
		"d": in("n", api.Pending, api.ControlPlaneNode, 3*time.Hour),
		"e": in("n", api.Pending, api.Paused, time.Minute),
		"f": in("n", api.Failed, api.BindingInvalid, time.Minute),
		"g": in("spared", api.Fencing, api.WaitingForDevice, time.Minute),
		"h": in("spared", api.Failed, api.IsolationFailed, time.Minute),
	}
	open["g"].Status.Power.SwitchedByUs = true
	open["h"].Status.Isolation = make([]api.IsolationRecord, 1)
	open["h"].Status.Isolation[0].OffAt = ago(time.Minute)
	g := showing(open)
	g.Leads(true)
	check(t, only(values(t, g), "nodefence_fences_open", "nodefence_oldest_wait_seconds"), map[string]float64{
		`nodefence_fences_open{phase="Pending",policy="p",to_be_fenced="false"}`: 3,
		`nodefence_fences_open{phase="Failed",policy="p",to_be_fenced="false"}`:  1,
		`nodefence_fences_open{phase="Pending",policy="p",to_be_fenced="true"}`:  1,
		`nodefence_fences_open{phase="Failed",policy="p",to_be_fenced="true"}`:   2,
		`nodefence_fences_open{phase="Fencing",policy="p",to_be_fenced="true"}`:  1,
		`nodefence_oldest_wait_seconds{policy="p",to_be_fenced="false"}`:         3 * 3600,
		`nodefence_oldest_wait_seconds{policy="p",to_be_fenced="true"}`:          60,
	})
}

// TestATimeThatThePolicySetsIsNoWait: such a fence goes on by itself, at a time that somebody has chosen.
func TestATimeThatThePolicySetsIsNoWait(t *testing.T) {
	g := showing(map[string]*api.NodeFence{
		"a": fence(api.Pending, api.WaitingForTime, time.Hour, time.Hour),
		"b": fence(api.Pending, api.WaitingBeforePower, time.Hour, time.Hour),
	})
	g.Leads(true)
	check(t, only(values(t, g), "nodefence_fences_held", "nodefence_oldest_wait_seconds"), map[string]float64{
		`nodefence_fences_held{policy="p",reason="WaitingForTime"}`:     1,
		`nodefence_fences_held{policy="p",reason="WaitingBeforePower"}`: 1,
	})
}

// TestWhoWaitsForAPersonIsNotStuck: a node that its policy keeps isolated, and one that gets its access back
// once it was rebooted. Since when is what is waited for since; a kept node that falls ill waits for its health.
func TestWhoWaitsForAPersonIsNotStuck(t *testing.T) {
	kept := fence(api.Recovering, api.WaitingForUncordon, 9*time.Hour, 8*time.Hour)
	kept.Status.ReadySince, kept.Status.KeptSince = ago(3*time.Hour), ago(2*time.Hour)
	uncordoned := fence(api.Recovering, api.WaitingForUncordon, 9*time.Hour, 8*time.Hour)
	uncordoned.Status.Decision.Policy.Name, uncordoned.Status.ReadySince = "q", ago(time.Hour)
	ill := fence(api.Recovering, api.WaitingForUncordon, 9*time.Hour, 5*time.Minute)
	ill.Status.Decision.Policy.Name = "r"
	g := showing(map[string]*api.NodeFence{
		"a": kept, "b": uncordoned, "c": ill,
		"d": fence(api.Recovering, api.NodeHealthy, time.Hour, time.Minute),
		"e": fence(api.Restoring, api.WaitingForReboot, 9*time.Hour, 4*time.Hour),
		"f": fence(api.Restoring, api.RestoreFailed, 9*time.Hour, 2*time.Minute),
	})
	g.Leads(true)
	check(t, only(values(t, g), "nodefence_oldest_phase_seconds", "nodefence_oldest_person_wait_seconds"), map[string]float64{
		`nodefence_oldest_person_wait_seconds{policy="p",reason="WaitingForUncordon"}`: 2 * 3600,
		`nodefence_oldest_person_wait_seconds{policy="q",reason="WaitingForUncordon"}`: 3600,
		`nodefence_oldest_person_wait_seconds{policy="p",reason="WaitingForReboot"}`:   4 * 3600,
		`nodefence_oldest_phase_seconds{phase="Recovering",policy="r"}`:                300,
		`nodefence_oldest_phase_seconds{phase="Recovering",policy="p"}`:                60,
		`nodefence_oldest_phase_seconds{phase="Restoring",policy="p"}`:                 120,
	})
}

// TestATimeThatThePolicyGivesIsNoStay: a machine may boot for as long as its policy says, and a node must be
// healthy for as long. What takes longer than that counts from when the phase began.
func TestATimeThatThePolicyGivesIsNoStay(t *testing.T) {
	in := func(since, ready time.Duration, change ...func(*api.NodeFenceStatus)) *api.NodeFence {
		f := fence(api.Recovering, api.NodeHealthy, 9*time.Hour, since)
		f.Status.Decision.Settings.Recovery.BootTimeout.Duration, f.Status.Decision.Settings.Recovery.ReadyDuration.Duration = time.Hour, 2*time.Hour
		if ready > 0 {
			f.Status.ReadySince = ago(ready)
		}
		for _, c := range change {
			c(&f.Status)
		}
		return f
	}
	for name, c := range map[string]struct {
		fence *api.NodeFence
		want  map[string]float64
	}{
		"it boots":                    {in(50*time.Minute, 0), map[string]float64{}},
		"it has not booted":           {in(61*time.Minute, 0), map[string]float64{`nodefence_oldest_phase_seconds{phase="Recovering",policy="p"}`: 3660}},
		"it is healthy":               {in(150*time.Minute, 110*time.Minute), map[string]float64{}},
		"it is healthy for long":      {in(180*time.Minute, 121*time.Minute), map[string]float64{`nodefence_oldest_phase_seconds{phase="Recovering",policy="p"}`: 10800}},
		"its marks are not taken off": {in(50*time.Minute, 0, func(st *api.NodeFenceStatus) { st.Outcome = api.Aborted }), map[string]float64{`nodefence_oldest_phase_seconds{phase="Recovering",policy="p"}`: 3000}},
	} {
		g := showing(map[string]*api.NodeFence{"n": c.fence})
		g.Leads(true)
		if d := cmp.Diff(c.want, only(values(t, g), "nodefence_oldest_phase_seconds")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// showing are the gauges of these fences, of which those of node spared are not to begin.
func showing(open map[string]*api.NodeFence) *gauges.Gauges {
	return gauges.New(func() map[string]*api.NodeFence { return open }, func(node string) bool { return node == "spared" }, func() time.Time { return now })
}

// only are the series of these metrics.
func only(all map[string]float64, metrics ...string) map[string]float64 {
	maps.DeleteFunc(all, func(series string, _ float64) bool {
		name, _, _ := strings.Cut(series, "{")
		return !slices.Contains(metrics, name)
	})
	return all
}

func check(t *testing.T, got, want map[string]float64) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// values are the series of a scrape.
func values(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
			}
			if labels != "" {
				labels = "{" + labels[1:] + "}"
			}
			all[f.GetName()+labels] = m.GetGauge().GetValue()
		}
	}
	return all
}

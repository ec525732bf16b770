package gauges_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/gauges"
)

// TestEachNodeThatWasCutIsShown: while its fence is open, and for an hour after the cut. A standby shows none, and
// forgets all.
func TestEachNodeThatWasCutIsShown(t *testing.T) {
	at := now
	g := gauges.New(func() map[string]*api.NodeFence { return nil }, nil, func() time.Time { return at })
	g.Leads(true)
	shows := func(want ...string) {
		t.Helper()
		all := map[string]float64{}
		for _, node := range want {
			all[`nodefence_nodes_cut{node="`+node+`",policy="p"}`] = 1
		}
		check(t, only(values(t, g), "nodefence_nodes_cut"), all)
	}
	in := func(node string, phase api.Phase, change func(*api.NodeFenceStatus)) {
		f := fence(phase, api.Opened, 2*time.Hour, time.Minute)
		f.Name = node
		change(&f.Status)
		g.Fence(f)
	}
	power := func(d time.Duration) func(*api.NodeFenceStatus) {
		return func(st *api.NodeFenceStatus) { st.Power.CutAt = ago(d) }
	}
	access := func(d time.Duration) func(*api.NodeFenceStatus) {
		return func(st *api.NodeFenceStatus) {
			st.Isolation = make([]api.IsolationRecord, 1)
			st.Isolation[0].OffAt = ago(d)
		}
	}
	in("uncut", api.Fencing, func(*api.NodeFenceStatus) {})
	shows()
	in("power", api.Finished, power(time.Minute))
	in("access", api.Finished, access(30*time.Minute))
	in("long-ago", api.Finished, power(time.Hour))
	in("open", api.Recovering, power(90*time.Minute))
	shows("power", "access", "open")
	at = at.Add(30 * time.Minute)
	shows("power", "open")
	in("open", api.Finished, power(90*time.Minute))
	shows("power")
	g.FenceGone("power")
	shows()
	in("open", api.Recovering, power(90*time.Minute))
	g.Leads(false)
	g.Leads(true)
	shows()
}

// TestWorkIsDownUntilItIsReleased: of a node that is lost, and not of one that lives.
func TestWorkIsDownUntilItIsReleased(t *testing.T) {
	lost := func(phase api.Phase, e api.Evidence, seen time.Duration) *api.NodeFence {
		f := fence(phase, api.TooManyUnhealthy, 9*time.Hour, time.Second)
		e.Since = *ago(seen)
		f.Status.Evidence = []api.Evidence{e}
		return f
	}
	ready := api.Evidence{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown"}
	const series = `nodefence_oldest_work_down_seconds{policy="p",to_be_fenced="true"}`
	for name, c := range map[string]struct {
		fence *api.NodeFence
		want  map[string]float64
	}{
		"it waits":             {lost(api.Pending, ready, time.Hour), map[string]float64{series: 3600}},
		"its Node is gone":     {lost(api.Pending, api.Evidence{Type: api.TriggerNodeMissing}, time.Minute), map[string]float64{series: 60}},
		"it is being cut":      {lost(api.Fencing, ready, time.Hour), map[string]float64{series: 3600}},
		"it was given up":      {lost(api.Failed, ready, time.Hour), map[string]float64{series: 3600}},
		"only a disk is ill":   {lost(api.Pending, api.Evidence{Type: api.TriggerNodeCondition, Condition: "DiskPressure", Status: "True"}, time.Hour), map[string]float64{}},
		"it lives, and waits":  {fence(api.Pending, api.WaitingForApproval, time.Hour, time.Hour), map[string]float64{}},
		"it lives, and drains": {lost(api.Draining, ready, time.Hour), map[string]float64{}},
		"its work is released": {lost(api.PoweringOn, ready, time.Hour), map[string]float64{}},
		"it is not to be fenced": {func() *api.NodeFence {
			f := lost(api.Pending, ready, time.Hour)
			f.Status.Reason = api.Excluded
			return f
		}(), map[string]float64{
			`nodefence_oldest_work_down_seconds{policy="p",to_be_fenced="false"}`: 3600,
		}},
		"its power was cut on request": {func() *api.NodeFence {
			f := fence(api.Fencing, api.PowerOffSent, time.Hour, time.Second)
			f.Status.Power.CutAt = ago(time.Minute)
			return f
		}(), map[string]float64{series: 60}},
		"its pods were released": {func() *api.NodeFence {
			f := lost(api.Failed, ready, time.Hour)
			f.Status.Release.DoneAt = ago(time.Minute)
			return f
		}(), map[string]float64{}},
	} {
		g := showing(map[string]*api.NodeFence{"n": c.fence})
		g.Leads(true)
		t.Run(name, func(t *testing.T) { check(t, only(values(t, g), "nodefence_oldest_work_down_seconds"), c.want) })
	}
}

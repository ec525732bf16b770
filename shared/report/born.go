package report

import (
	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// actions are those that a function carries out.
var actions = []fence.Action{
	fence.Resolve, fence.Reserve, fence.AskDrain, fence.AskChecks, fence.DryReserve, fence.DryDrain, fence.DryChecks, fence.Evict, fence.Check, fence.Isolate, fence.Read, fence.Off, fence.On,
	fence.MarkNotReady, fence.Release, fence.DeletePods, fence.DeleteNode, fence.DeleteMachine, fence.ClearOutOfService, fence.Undo,
	fence.WriteReport, fence.DropFinalizer,
}

// unknown is the type under which lost events of a misspelt type are counted.
const unknown = "unknown"

// phaseBuckets end at a week, in seconds: that long an approval may be waited for, and a drain takes a day.
var phaseBuckets = []float64{0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 24 * 3600, 72 * 3600, 168 * 3600}

// born has each series of closed labels that an alert or the dashboard looks for growth in begin at 0, before the first thing
// that it counts: Prometheus sees no increase in a series that is born with it.
func (m *metrics) born(deciding []string) {
	for _, t := range append(events.Types(), events.RequestFence, other, unknown) {
		m.lost.WithLabelValues(t)
	}
	for _, p := range api.Phases {
		if len(deciding) > 0 {
			m.phase.WithLabelValues(string(p))
		}
	}
	for _, function := range deciding {
		m.unsaved.WithLabelValues(function)
		for _, a := range actions {
			m.actions.WithLabelValues(function, string(a), "error")
		}
	}
}

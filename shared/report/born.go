package report

import (
	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/fence"
)

// actions are those that a function carries out.
var actions = []fence.Action{
	fence.Resolve, fence.Reserve, fence.AskDrain, fence.Evict, fence.Check, fence.Isolate, fence.Read, fence.Off, fence.On,
	fence.MarkNotReady, fence.Release, fence.DeletePods, fence.DeleteNode, fence.DeleteMachine, fence.ClearOutOfService, fence.Undo,
	fence.DropFinalizer,
}

// unknown is the type under which lost events of a misspelt type are counted.
const unknown = "unknown"

// born has each series of closed labels that an alert is about begin at 0, before the first thing
// that it counts: Prometheus sees no increase in a series that is born with it.
func (m *metrics) born(deciding []string) {
	for _, t := range append(events.Types(), events.RequestFence, other, unknown) {
		m.lost.WithLabelValues(t)
	}
	for _, function := range deciding {
		for _, a := range actions {
			m.actions.WithLabelValues(function, string(a), "error")
		}
	}
}

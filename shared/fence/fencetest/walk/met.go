package walk

import (
	"maps"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// met is what a walk has met with on its way.
type met struct {
	// decisions are those that were made in each phase.
	decisions map[api.Phase]int
	// actions are those that were decided on, and how often.
	actions map[fence.Action]int
	// reasons are those that a record stood for, ended for, or told of.
	reasons map[api.Reason]bool
	last    api.Reason
}

// toldAtOnce is how many sentences one step tells at most, as far as reasons are collected.
const toldAtOnce = 3

func newMet() met {
	return met{decisions: map[api.Phase]int{}, actions: map[fence.Action]int{}, reasons: map[api.Reason]bool{}}
}

// note takes in one decision. It is asked millions of times, and mostly about the same
// reason.
func (m *met) note(after *api.NodeFenceStatus, act fence.Action) {
	if act != fence.None {
		m.actions[act]++
	}
	if after.Reason != m.last {
		m.last = after.Reason
		m.reasons[after.Reason] = true
	}
	if after.Outcome != "" {
		m.reasons[after.Outcome] = true
	}
	for _, told := range after.History[max(0, len(after.History)-toldAtOnce):] {
		m.reasons[told.Reason] = true
	}
}

// add takes in what another walk has met with.
func (m *met) add(x *met) {
	for p, n := range x.decisions {
		m.decisions[p] += n
	}
	for a, n := range x.actions {
		m.actions[a] += n
	}
	maps.Copy(m.reasons, x.reasons)
}

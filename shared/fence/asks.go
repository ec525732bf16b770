package fence

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// AsksBrakes tells whether a brake may stop anything of what power decides next:
// before the first Off, and before any further one (S25). While an Off is waited
// for, and on the way back, there is nothing to stop. Brakes that were not looked
// at are on for every Off, so that a mistake here costs time and no machine.
func AsksBrakes(f *api.NodeFence) bool {
	st := f.Status
	begun := st.Begun()
	return f.CurrentPhase() != api.PoweringOn && !(begun && (st.Power.OffAt != nil || st.Awaited != nil))
}

// AsksAnew tells whether what power decides next may be an Off, or the deletion of a
// Machine: the node is then looked at for that very decision, whatever was seen of it a
// moment ago (S17).
func AsksAnew(f *api.NodeFence) bool {
	if f.Status.Decision.Trigger.OnlyMachine() {
		return f.CurrentPhase() == api.Fencing
	}
	r := f.Status.Power.LastRead
	return f.CurrentPhase() == api.Fencing && f.Status.Power.OffAt == nil && r != nil && r.State == api.PoweredOn
}

// AsksCut tells whether what isolate decides next may cut off storage or network.
func AsksCut(f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Isolating && slices.ContainsFunc(f.Status.Isolation, func(r api.IsolationRecord) bool {
		return r.OffAt == nil && r.LastRead != nil && r.LastRead.State == api.PoweredOn
	})
}

// DevicesStay: something was switched off by the devices as they are bound. It is by
// them that it is switched on again, whatever their configuration says by now (S11, S12).
func DevicesStay(f *api.NodeFence) bool {
	return f.Status.Begun() || slices.ContainsFunc(f.Status.Isolation, owed)
}

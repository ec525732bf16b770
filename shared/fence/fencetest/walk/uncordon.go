package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence under recovery.uncordon: Manual, from where its node may be given back.

func (s *State) isManual() bool {
	return s.spec.Decision.Settings.Recovery.Uncordon == api.UncordonManual
}

// onItsWayBack is such a fence once its machine was switched on again; for the first
// time, and when its power was looked at again since.
func onItsWayBack(s State) []State {
	at, still := observed.StampOf(fencetest.Start), observed.StampOf(fencetest.Start.Add(-time.Minute))
	s.sh.moved, s.sh.served = still.Time, true
	s.st = api.NodeFenceStatus{
		Phase: api.Recovering, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true,
		Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &still}, Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{OffAt: &still}, Cuts: 1},
	}
	again := s
	again.st.Power.OffAt = nil
	return []State{s, again}
}

// pastManual: from here it goes on like any other fence, until it is on its way back.
func (s *State) pastManual() bool {
	return s.isManual() && (s.st.Phase == api.Isolating || s.st.Phase == api.Fencing || s.st.Phase == api.PoweringOn)
}

func (s *State) manualKey() []any {
	if !s.isManual() {
		return nil
	}
	return []any{"manual", s.st.Answer(api.AskedUncordon) != nil, s.st.Reason == api.WaitingForUncordon, s.st.KeptSince != nil, s.sh.kept}
}

func (sh *shadow) keeps(after *api.NodeFenceStatus, seen *observed.Look) {
	switch {
	case after.Phase != api.Recovering || after.ReadySince == nil:
		sh.kept = false
	case after.Reason == api.WaitingForUncordon && after.Placed.Cordon && seen.Node.Cordoned:
		sh.kept = true
	}
}

// uncordoned are looks at a node that a person gives back, by a word and by kubectl.
func uncordoned(s *State, dt time.Duration, x observed.Look) []look {
	if !s.isManual() {
		return nil
	}
	y := x
	y.Node.Cordoned, y.Node.CordonOurs = false, false
	return []look{{dt: dt, seen: x, uncordon: true}, {dt: dt, seen: y}}
}

// checkManual holds what is promised of such a fence.
func checkManual(s *State, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isManual() || s.st.Phase != api.Recovering {
		return
	}
	ends := f.Spec.Requests.Abort != nil || seen.Deleting || seen.Node.UID != f.Status.Decision.NodeUID || !seen.Node.Exists || !seen.Node.Taint
	word := f.Spec.Requests.Uncordon != nil && !s.st.Answered(api.AskedUncordon, f.Spec.Requests.Uncordon.At) || s.sh.kept && !seen.Node.Cordoned
	own := s.st.Outcome == "" || s.st.Outcome == api.HealedBeforeFence
	back := own && (act == fence.Undo || act == fence.DropFinalizer || a.Outcome == api.Recovered || a.Phase == api.Finished)
	say(!back || word || ends, "recovery.uncordon: Manual: a node that was fenced is given back when a person says so")
	due := a.Phase == api.Recovering && act == fence.None && a.ReadySince != nil && now.Sub(a.ReadySince.Time) >= f.Status.Decision.Settings.Recovery.ReadyDuration.Duration
	say(!(due && word), "S27: what a person uncordons returns once it is healthy")
	say(!due || a.Reason == api.WaitingForUncordon && a.Message != "", "S28: a node that is kept says why")
	say(!due || !a.Phase.HoldsSlot(), "S14: a node that is kept holds no slot")
}

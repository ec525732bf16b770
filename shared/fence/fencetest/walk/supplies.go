package walk

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What the walk adds for a machine of several supplies.

// supplyEnds are the ends of a read that tell of a supply that is not on.
func supplyEnds(s *State, end func(observed.CallResult)) {
	if s.st.Phase == api.PoweringOn && !climbed(s) {
		end(observed.CallResult{Power: "On", MissingSupply: "b"})
	}
}

// lacking: the last read told of a supply that is not on.
func (sh shadow) lacking() bool {
	return len(sh.reads) > 0 && sh.reads[len(sh.reads)-1].MissingSupply != ""
}

func checkSupplies(s *State, sh *shadow, a *api.NodeFenceStatus, say func(bool, string)) {
	if s.st.Phase == api.PoweringOn && a.Phase == api.Recovering && a.Reason == api.SeenOn && sh.lacking() {
		say(slices.ContainsFunc(a.History, func(h api.HistoryEntry) bool { return h.Reason == api.PowerOnNotSeen }), "S25: every supply that was cut is asked for anew while it is not on")
	}
}

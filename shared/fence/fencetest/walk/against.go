package walk

import (
	"reflect"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What the walk adds for policies that are changed while a fence is under way.

// liveLooks are policies as they stand that are stricter than the record, and a look for
// which nobody has counted anew.
func liveLooks(s *State, now time.Time) (all []observed.Look) {
	if !slices.Contains([]api.Phase{api.Probing, api.Isolating, api.Fencing, api.Releasing}, s.st.Phase) || s.isHeld() {
		return nil
	}
	for _, b := range []observed.Brakes{
		{Looked: true, Counted: true, Stricter: true, Why: api.PolicyChanged}, {Looked: true, Counted: true, Stricter: true, Unmark: true, Why: api.Excluded},
		{Looked: true, Counted: true, Gone: true}, {Looked: true},
	} {
		x := usual(s, now, "Unknown", false, "a")
		x.Brakes = b
		all = append(all, x)
	}
	return all
}

// checkLive: what was not begun goes back to the gate, without our taint where none may
// stay, or ends; what was begun goes on as if nothing had changed, but for its Offs.
func checkLive(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	b := seen.Brakes
	if c := s.st.Claim; !b.Stricter && !b.Gone || c != nil && c.Holder != seen.Me && reflect.DeepEqual(a, &s.st) {
		return
	}
	if sh.cut || s.st.Power.SwitchedByUs || s.st.Release.StartedAt != nil || s.st.Phase == api.Recovering || s.st.Phase == api.Restoring || f.Spec.Requests.ConfirmOff != nil {
		return
	}
	say(act != fence.Isolate && act != fence.Release && act != fence.MarkNotReady && act != fence.Off, "S17: what the policies do not allow any more is not begun")
	mine := seen.Node.Exists && seen.Node.UID == f.Status.Decision.NodeUID
	if b.Unmark && a.Phase == api.Pending && a.Reason == b.Why && mine && s.st.Phase != api.Pending {
		say(!seen.Node.Taint, "S17, S22: no taint of ours stays on a node that is left alone now")
	}
}

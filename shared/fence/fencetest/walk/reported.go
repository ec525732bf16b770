package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence that reports opened, in the small world of the fences that requests join. No person
// approves it. A person may confirm that the machine is off.

func (s *State) isReported() bool { return s.spec.Decision.Trigger.Type == api.TriggerProblem }

func (s *State) reportedKey() []any {
	if !s.isReported() || s.st.CutOrReleased {
		return nil
	}
	return []any{"reported", s.sh.sickDue(s.now), len(s.st.Evidence) > 0, s.now.Sub(s.spec.Decision.AskedBy[0].JoinedAt.Time) > time.Hour}
}

// checkReported: what may be done for reports, which prove nothing.
func checkReported(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isReported() || s.st.CutOrReleased || sh.cut {
		return
	}
	speaks := sh.sickDue(now) || f.Spec.Requests.ConfirmOff != nil
	say(act != fence.Off || speaks, "S18, S20: no Off for reports without a person's approval")
	say(act != fence.Release || speaks, "S18, S20: no release for reports without a person's approval")
	if s.st.Phase == api.Pending && a.Phase == api.Isolating && !seen.Node.Taint {
		say(speaks, "S18, S20: no node is marked for reports without a person's approval")
	}
	say(act != fence.Reserve || speaks, "S14, S18: reports take no slot without a person's approval")
}

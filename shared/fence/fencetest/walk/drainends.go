package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What may end a drain, or keep a node from one, and counts no more.

// skips: somebody who asks wants no drain.
func (s *State) skips() bool { return len(s.spec.Decision.AskedBy) > 1 }

// policyTurns has the policy say otherwise what follows a drain that takes too long, where the gate
// resolves it anew.
func (w *walker) policyTurns(s *State, act fence.Action) {
	if !s.drains() || act != fence.Resolve || s.st.Drain == nil {
		return
	}
	other := *s
	other.spec.Decision.Settings.Drain.OnTimeout = api.DrainThenGiveUp
	if s.givesUp() {
		other.spec.Decision.Settings.Drain.OnTimeout = api.DrainThenFence
	}
	w.push(&other)
}

// letLate: the gate let it drain too long ago.
func (sh *shadow) letLate(now time.Time) bool {
	return !sh.let.IsZero() && now.Sub(sh.let) > promisedDecision
}

// skipped: somebody wants no drain, and that still counts.
func (sh *shadow) skipped(spec *fencetest.Given, now time.Time) bool {
	return len(spec.Decision.AskedBy) > 1 && !sh.withdrawn && now.Sub(fencetest.Start) <= promisedRequest+sh.took+time.Second
}

// checkDrained holds what is promised from the drain's end to the first Off.
func checkDrained(s *State, sh *shadow, confirmed bool, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	b, lives := &s.st, sh.lives(seen, now)
	say(b.Phase != api.Draining || !sh.letLate(now) || act == fence.None, "S14, S17: no drain begins on an old yes")
	begins := b.Phase == api.Pending && a.Phase == api.Isolating
	say(!begins || !sh.over || seen.Reserved != nil && !seen.Reserved.Before(sh.overAt.Truncate(time.Microsecond)), "S14, S17: no yes of before the end of the drain counts")
	kept := b.Phase == api.Pending && lives && sh.how == api.DrainGivenUp && marksStay(b, seen) && !sh.served && !b.CutOrReleased && !CallElsewhere(&s.spec.Decision, b, seen.Me, now)
	say(!kept || confirmed || a.Phase == api.Recovering || a.Phase == api.Restoring, "S22: a node that lives is given back once its drain was given up")
	marks := b.Phase == api.Isolating && act == fence.Isolate && lives && sh.how == api.DrainEmpty && !sh.served && !b.CutOrReleased
	say(!marks || confirmed, "S17: an empty node that lost its taint is drained again before it is marked for its cut")
	if act != fence.Off || sh.cut || !lives {
		return
	}
	skipped := sh.skipped(&s.spec, now)
	say(skipped || sh.over, "S17: a node that lives is not cut before it was drained")
	say(skipped || sh.how != api.DrainGivenUp, "S17: a node that lives is not cut once its drain was given up")
	say(skipped || sh.how != api.DrainSilent, "S17: a node that lives again is not cut as one that failed")
	say(skipped || sh.how != api.DrainEmpty || seen.Node.Taint, "S17: an empty node that lost its taint is not cut before it is empty again")
	say(skipped || sh.how != api.DrainSkipped, "S17: a wish for no drain that counts no more has nothing cut")
}

package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence that drains its node while that lives, until its machine is about to be cut.

func (s *State) drains() bool { return s.spec.Decision.Settings.Drain.Timeout.Duration > 0 }

func (s *State) givesUp() bool {
	return s.spec.Decision.Settings.Drain.OnTimeout == api.DrainThenGiveUp
}

// pastDrain: from here it goes on like any other fence.
func (s *State) pastDrain() bool {
	switch s.st.Phase {
	case "", api.Pending, api.Draining, api.Isolating, api.Recovering:
		return false
	case api.Fencing:
		return s.drains() && (s.sh.cut || s.st.Begun() || s.st.Restarts > 0 || s.st.Retries > 0 || s.st.Power.FirstOff != nil)
	}
	return s.drains()
}

// drained is what really happened of a drain.
type drained struct {
	// took is how long the node was isolated in Draining, by the looks, of which the last one in that phase showed
	// it so if marked. Of what lies between two looks facts.Resync counts at most.
	took   time.Duration
	marked bool
	// shown: a look in Draining has shown the taint, and none there since that it was missing.
	shown bool
	// over: it left Draining for good, and how; timedOut: with its time over, and something left.
	over, timedOut bool
	how            api.DrainEnd
	// begged: pods were asked to leave.
	begged bool
	// let is when the gate let it drain, until a look in Draining.
	let time.Time
	// overAt is when it left Draining for good.
	overAt time.Time
	// withdrawn: the request that came last is.
	withdrawn bool
	// quiet is since when the looks show that the node does not live.
	quiet time.Time
	// beat is the Lease's last mark, still since when it was seen.
	beat  string
	still time.Time
}

// beats keeps since when the Lease was seen to stand at its mark.
func (sh *shadow) beats(seen *observed.Look, now time.Time) {
	if seen.Lease.Exists && (sh.still.IsZero() || sh.beat != seen.Lease.Renewed) {
		sh.beat, sh.still = seen.Lease.Renewed, now
	}
}

// stale: the Lease is gone, or has missed two renewals.
func (sh *shadow) stale(seen *observed.Look, now time.Time) bool {
	return !seen.Lease.Exists || now.Sub(sh.still) >= 2*fencetest.Renewal
}

// quiets keeps since when the node does not live; a Lease that stands still says so from before.
func (sh *shadow) quiets(seen *observed.Look, now time.Time) {
	switch missed := sh.still.Add(2 * fencetest.Renewal); {
	case sh.lives(seen, now):
		sh.quiet = time.Time{}
	case seen.Lease.Exists && sh.stale(seen, now) && (sh.quiet.IsZero() || missed.Before(sh.quiet)):
		sh.quiet = missed
	case sh.quiet.IsZero():
		sh.quiet = now
	}
}

// voids: at the gate the node is not any more what its drain has left it as, or the policy says
// otherwise what follows.
func (sh *shadow) voids(spec *fencetest.Given, seen *observed.Look, st *api.NodeFenceStatus, now time.Time) {
	gives := spec.Decision.Settings.Drain.OnTimeout == api.DrainThenGiveUp
	switch {
	case st.Phase != api.Pending:
	case sh.how == api.DrainGivenUp && !gives:
		sh.took, sh.over, sh.timedOut, sh.begged, sh.shown, sh.how = 0, false, false, false, false, ""
	case sh.how == api.DrainTimeIsOver && gives, sh.lives(seen, now) && sh.undone(spec, seen, now):
		sh.over, sh.how, sh.shown = false, "", sh.shown && seen.Node.Taint
	}
}

// undone: the drain of a node that lives has left it as it is not any more.
func (sh *shadow) undone(spec *fencetest.Given, seen *observed.Look, now time.Time) bool {
	return sh.how == api.DrainSilent || sh.how == api.DrainEmpty && !seen.Node.Taint || sh.how == api.DrainSkipped && !sh.skipped(spec, now)
}

// failed: the node is not Ready for as long as the policy asks, and its Lease stands still.
func (sh *shadow) failed(seen *observed.Look, now time.Time) bool {
	return !seen.Node.Ready() && sh.stale(seen, now) && sh.sickFor(now)
}

func (sh *shadow) sickFor(now time.Time) bool {
	return !sh.sick.IsZero() && now.Sub(sh.sick) >= specs.DrainSilence
}

// tookUntil is how long the node has really been drained.
func (s *State) tookUntil(sh *shadow, now time.Time) time.Duration {
	if s.st.Phase != api.Draining || !sh.marked {
		return sh.took
	}
	return sh.took + min(facts.Resync, now.Sub(s.now))
}

func (s *State) drainKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.drains() {
		return nil
	}
	limit, st := s.spec.Decision.Settings.Drain.Timeout.Duration, &s.st
	since := func(t time.Time) *api.Time {
		if t.IsZero() {
			return nil
		}
		at := observed.StampOf(t)
		return &at
	}
	k := []any{"drains", s.givesUp(), string(s.sh.how), s.sh.begged, s.sh.shown, st.Drain != nil, s.sh.took >= limit, s.sh.over, s.sh.timedOut, s.now.Sub(s.sh.still) < 2*fencetest.Renewal, age(st.Lease.StillSince, 2*fencetest.Renewal), st.GivenBack != nil}
	k = append(k, s.skips(), s.sh.withdrawn, st.Answer(api.AskedConfirmOff) != nil)
	switch {
	case st.Phase == api.Pending && st.Drain != nil:
		k = append(k, age(since(s.sh.overAt), facts.DecisionValidity))
	case st.Phase == api.Draining:
		k = append(k, s.sh.marked, age(since(s.sh.sick), specs.DrainSilence), age(since(s.sh.let), facts.DecisionValidity))
	case st.Phase == api.Pending && st.Drain == nil:
		k = append(k, age(since(s.sh.quiet), facts.ShortSilence), age(st.SilentSince, facts.ShortSilence))
	}
	if d := st.Drain; d != nil {
		took := facts.DrainTook(st, s.now)
		old := s.now.Sub(s.spec.Decision.AskedBy[0].JoinedAt.Time) > api.RequestValidity+took
		if st.Phase == api.Draining {
			k = append(k, age(d.LetAt, facts.DecisionValidity))
		}
		k = append(k, string(d.Ended), d.IsolatedAt != nil, d.Rounds > 0, took >= limit, age(d.AskedAt, facts.DrainPoll), old, placed(st.Placed))
	}
	return k
}

// lives: the node is Ready and its Lease moved lately, by what was really seen.
func (sh *shadow) lives(seen *observed.Look, now time.Time) bool {
	return seen.Node.Exists && seen.Node.UID == "uid-1" && seen.Node.Ready() && !sh.stale(seen, now)
}

// drains keeps how long it really took, and how it ended.
func (sh *shadow) drains(s *State, seen *observed.Look, after *api.NodeFenceStatus, act fence.Action, now time.Time) {
	if !s.drains() {
		return
	}
	switch {
	case s.st.Phase != api.Draining && after.Phase == api.Draining:
		sh.let = now
	case s.st.Phase != api.Draining || seen.Brakes.Looked:
		sh.let = time.Time{}
	}
	sh.took = s.tookUntil(sh, now)
	if s.st.Phase == api.Draining {
		sh.shown = seen.Node.Taint && (sh.shown || seen.Draining != nil && clear(seen.Brakes) && after.Phase == api.Draining)
	}
	sh.marked = s.st.Phase == api.Draining && after.Phase == api.Draining && sh.shown
	sh.begged = sh.begged || act == fence.Evict
	limit := s.spec.Decision.Settings.Drain.Timeout.Duration
	left := seen.Draining == nil || !seen.Node.Taint || len(seen.Draining.Evict)+len(seen.Draining.Leaving) > 0
	if ends := after.Phase != api.Draining && (after.Phase != api.Pending || after.Drain == nil || after.Drain.EndedAt != nil); s.st.Phase == api.Draining && ends {
		sh.over, sh.timedOut = true, sh.took >= limit && left && !(sh.stale(seen, now) && !seen.Node.Ready()) && after.Reason != api.DrainCutShort
	}
	if d := after.Drain; d != nil && d.EndedAt != nil {
		if was := s.st.Drain; was == nil || !d.EndedAt.Equal(was.EndedAt) {
			sh.overAt = now
		}
		sh.over, sh.how = true, d.Ended
	}
	if s.st.Phase == api.Recovering && after.Phase == api.Pending && sh.how != api.DrainGivenUp {
		sh.took, sh.over, sh.timedOut, sh.begged, sh.shown, sh.how, sh.overAt = 0, false, false, false, false, "", time.Time{} // without marks it fills again
	}
}

// checkDrain holds what is promised of such a fence.
func checkDrain(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.drains() {
		say(a.Phase != api.Draining && act != fence.Evict && act != fence.AskDrain, "drain: a policy that drains nothing has no pod asked to leave")
		return
	}
	b, limit := &s.st, s.spec.Decision.Settings.Drain.Timeout.Duration
	took := s.tookUntil(sh, now)
	lives, failed := sh.lives(seen, now), sh.failed(seen, now)
	confirmed := f.Spec.Requests.ConfirmOff != nil || sh.skipped(&s.spec, now)
	endsHere := b.Phase == api.Pending && b.Drain != nil && b.Drain.EndedAt == nil && a.Drain != nil && a.Drain.EndedAt != nil
	say(!endsHere || failed || confirmed, "drain: at the gate it ends only where the node has failed")
	begins := b.Phase != api.Draining && a.Phase == api.Draining
	say(!begins || seen.MayDrain, "S14, S15: no drain begins before all limits were asked")
	say(!begins || seen.Brakes.Looked && !seen.Brakes.Stopped && !seen.Brakes.Paused, "S25: no drain begins while a brake is on")
	say(!begins || !sh.over, "drain: a fence drains its node once")
	say(!begins || seen.Reserved == nil || a.GivenBack != nil && a.GivenBack.Time.Equal(observed.StampOf(*seen.Reserved).Time), "S14: a drain gives back the slot of before")
	say(a.Phase != api.Draining || a.DecidedAt == nil, "S14: a fence that drains holds no slot")
	say(a.Phase != api.Draining || a.NextLook != nil && a.NextLook.Sub(now) <= promisedAct, "S19: a drain is looked at again within seconds")
	say(b.Phase != api.Pending || a.Phase != api.Isolating || sh.over || confirmed || !lives, "drain: a node that lives is drained before it is isolated for its cut")
	long := sh.sickFor(now) || !sh.quiet.IsZero() && now.Sub(sh.quiet) >= facts.ShortSilence
	say(b.Phase != api.Pending || a.Phase != api.Isolating || sh.over || confirmed || long, "drain: a node that does not live for a moment is not fenced without a drain")
	say(b.Phase != api.Pending || a.Phase != api.Isolating || !lives || confirmed || !sh.timedOut || !s.givesUp(), "drain: a node that lives is not cut once its drain was given up")
	if b.Phase == api.Draining && a.Phase == api.Pending && clear(seen.Brakes) && !seen.Brakes.Changed && !sh.letLate(now) {
		empty := seen.Draining != nil && seen.Node.Taint && len(seen.Draining.Evict)+len(seen.Draining.Leaving) == 0
		asked := sh.begged || !lives || seen.Draining != nil && len(seen.Draining.Evict) == 0
		say(asked || took < limit || a.Reason != api.DrainTimedOut, "drain: its time is not over before pods were asked to leave")
		say(empty || failed || confirmed || took >= limit, "drain: it goes on until the node is empty, has failed, or its time is over")
	}
	gaveUp := a.Outcome == api.DrainTimedOut && b.Outcome != api.DrainTimedOut
	say(!gaveUp || len(a.Evidence) == 0, "drain: a fence that is given up waits as long as a condition holds")
	checkDrained(s, sh, confirmed, seen, a, act, now, say)
	if act != fence.Evict {
		return
	}
	say(clear(seen.Brakes), "S25: no pod is asked to leave while a brake is on")
	say(f.Spec.Requests.Abort == nil && !seen.Deleting, "S25: no pod is asked to leave after an abort")
	say(lives, "drain: pods of a node that does not live are not asked to leave")
	say(seen.Node.Taint, "drain: no pod is asked to leave before the node takes no new one")
	say(took < limit || !sh.begged, "drain: no pod is asked to leave once its time is over")
	say(now.Sub(fencetest.Start) <= promisedRequest+took+time.Second, "S17: no pod is asked to leave once the reason has gone")
	say(a.Drain != nil && a.Drain.AskedAt != nil && a.Drain.AskedAt.Time.Equal(now.Truncate(time.Microsecond)), "S8: that pods are asked to leave is saved first")
}

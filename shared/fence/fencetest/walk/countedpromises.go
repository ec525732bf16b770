package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What is promised of tries, passes, cuts a day, and of what a record remembers. The
// numbers are those of specs.Counted and of the promises, not those of the code.

func checkCounted(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isCounted() {
		return
	}
	b := &s.st
	asked := f.Spec.Requests.Retry != nil
	passes := sh.passes
	if a.Restarts != b.Restarts && a.FenceNumber == b.FenceNumber {
		passes++
	}
	say(s.beginsAnew(sh, asked, a) || passes <= 2, "S26: a flow is passed through three times at most")
	say(act != fence.Read || b.Phase != api.Fencing || a.Awaited != nil || sh.misses < 3, "S26: a step is tried three times at most")
	if act == fence.Off {
		say(sh.offs < 3, "S26: a pass through the flow sends three Offs at most")
		say(sh.cut || sh.inDay(now) < 2, "S26: a node is cut twice a day at most")
	}
	if a.Reason == api.NodeFencedTooOften && act == fence.None && a.Phase == api.Pending {
		say(sh.count(now) >= 2, "S26: a day's limit counts real cuts only")
	}
	if b.Phase == api.Releasing && a.Phase == api.Fenced {
		say(!sh.cut || sh.count(now) >= 2, "S25: what was cut once a day is not left off")
	}
	if b.Phase == api.Releasing && a.Phase == api.PoweringOn {
		say(sh.inDay(now) < 2, "S26: what was cut twice a day stays off")
	}
	if f.Status.Phase != "" {
		cuts := len(sh.cuts)
		if act == fence.Off && !sh.cut && now.Sub(sh.last) >= aDay {
			cuts = 0
		}
		if act == fence.Off && !sh.cut {
			cuts++
		}
		say(int(a.Power.Cuts) == cuts, "S26: a record counts each cut once")
	}
	checkHistory(b, a, say)
	checkPast(sh, a, now, say)
}

// checkHistory: what was told is not told otherwise later, but for what had no room.
func checkHistory(b, a *api.NodeFenceStatus, say func(bool, string)) {
	was, is := b.History, a.History
	if b.Phase == "" {
		say(len(is) > 0 && is[0].Reason == api.Opened, "S28: a history begins with why the fence was opened")
		was = nil
	}
	say(len(is) <= 64, "S28: a history has 64 sentences at most")
	for i := 1; i < len(is); i++ {
		if is[i].At.Time.Before(is[i-1].At.Time) {
			say(false, "S28: a history is in the order of time")
		}
	}
	if len(was) == 0 {
		return
	}
	first := min(16, len(was))
	same := len(is) >= len(was) && slices.Equal(is[:first], was[:first])
	say(same, "S28: how a fence began is not forgotten")
	say(slices.Contains(is, was[len(was)-1]), "S28: what was told last is not forgotten at the next step")
}

// checkPast: the last ten fences, and each that cut within a day.
func checkPast(sh *shadow, a *api.NodeFenceStatus, now time.Time, say func(bool, string)) {
	for i := 1; i < len(a.Past); i++ {
		say(a.Past[i].FenceNumber > a.Past[i-1].FenceNumber, "S26: a node's past is in the order of its fences")
	}
	if a.Phase == api.Finished {
		return // opened again and not looked at
	}
	idle := 0
	for _, p := range a.Past {
		if p.Cuts == 0 || now.Sub(p.ClosedAt.Time) >= aDay {
			idle++
		}
	}
	say(idle <= 10, "S26: ten fences that don't count are remembered at most")
	for _, b := range sh.before {
		i := slices.IndexFunc(a.Past, func(p api.PastFence) bool { return p.FenceNumber == b.number })
		if now.Sub(b.closed) < aDay && len(b.cuts) > 0 {
			say(i >= 0, "S26: a fence that cut within a day is remembered")
		}
		if i >= 0 {
			say(int(a.Past[i].Cuts) == len(b.cuts) && a.Past[i].ClosedAt.Time.Equal(observed.StampOf(b.closed).Time), "S26: a closed fence counts the cuts that it made, from its end")
		}
	}
}

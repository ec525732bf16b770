package fence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Draining empties a node that still lives before its machine is cut, once in a fence. It begins
// when everything else would let the fence begin: what holds a fence in Pending was asked, and the
// gate has asked all limits (AskDrain). Nothing is reserved meanwhile, so the fence passes the whole
// gate again when the drain is over (S14, S17). Nothing is released by a drain (S1): the node's own
// kubelet ends each pod, within its disruption budget.

// drainFirst has a node that lives drained. One whose drain was given up waits, or ends.
func (d *decision) drainFirst() outcome {
	d.drainOpensAgain()
	if end, _ := d.DrainCutShort(); end != "" {
		d.drainStops(end)
		return goOn
	}
	switch r := d.Record.Drain; {
	case r.GivenUp() && !d.DrainsAnew():
		return d.givenUp()
	case d.WithoutAccess():
		return goOn
	case r == nil && d.SilenceLeft() > 0:
		return d.stay(api.WaitingForTime, "the node is not Ready, or its Lease does not move: it is fenced without a drain if that lasts", min(d.SilenceLeft(), facts.Handover))
	case d.DrainOver() && !d.DrainsAnew() || r == nil && !d.Lives():
		return goOn
	case d.Seen.MayDrain:
		return d.beginDrain()
	case d.Seen.Verdict != nil:
		return d.stay(d.Seen.Verdict.Reason, d.Seen.Verdict.Message, d.Seen.Verdict.Again)
	}
	return d.askGate(AskDrain)
}

// givenUp waits with nothing of ours on the node (backUndrained), as long as that stays for which the
// fence is: ended, it would be opened anew for that, and the node drained again and again. Where only
// somebody's request is left, the fence ends.
func (d *decision) givenUp() outcome {
	left := d.Record.Drain.Left
	if !d.ReasonStays() {
		return d.undoNow(api.DrainTimedOut, left)
	}
	return d.stay(api.DrainTimedOut, "the node was not empty in time (drain.onTimeout: GiveUp), and nothing of ours stays on it. The fence waits until its reason ends, or the node falls silent. "+
		"To go on, ask again: the node is drained once more, or with drain: Skip cut at once; or raise drain.timeout. "+left+d.StillCut(), facts.Resync)
}

// drainOpensAgain goes on with a drain whose end is void, in the time that is left of it. One that
// was given up begins anew: the node was given back since.
func (d *decision) drainOpensAgain() {
	r := d.Record.Drain
	if d.DrainOver() && r.EndedAt.After(d.Now) {
		r.EndedAt = d.At(0) // the API server's clock was set back: else no slot would be of after it (S30)
	}
	switch {
	case !d.DrainVoid():
	case r.Ended == api.DrainGivenUp:
		d.Record.Drain = nil
	default:
		r.Ended, r.EndedAt = "", nil
		if !d.Seen.Node.Taint {
			r.IsolatedAt = nil
		}
	}
}

// beginDrain begins the drain, or goes on with one that a brake had stopped, or that has more time
// now. A slot of before is given back: others need it meanwhile (S14).
func (d *decision) beginDrain() outcome {
	d.dropReservation()
	switch r := d.Record.Drain; {
	case r == nil || d.DrainAskedAnew():
		d.Record.Drain = &api.DrainRecord{BeganAt: d.Time()}
	case d.DrainHasTime():
		r.Ended, r.EndedAt, r.IsolatedAt = "", nil, nil
	}
	d.Record.Drain.LetAt = d.Stamp(cmp.Or(d.Seen.DrainAsked, d.Now))
	left := d.Decision.Settings.Drain.Timeout.Duration - facts.DrainTook(d.Record, d.Now)
	return d.enter(api.Draining, api.NodeDraining, "the node lives: its pods are asked to leave before its machine is cut, for "+max(0, left).Round(time.Second).String()+" at most")
}

// dropOldReservation gives back a slot of before the drain's end: the limits are asked anew (S14).
func (d *decision) dropOldReservation() {
	if r := d.Seen.Reserved; r != nil && d.DrainOver() && r.Before(d.Record.Drain.EndedAt.Time) {
		d.dropReservation()
	}
}

// draining follows the policy as it stands: nothing of it is frozen before a slot is reserved.
func (d *decision) draining() outcome {
	d.countDrain()
	o := first(d.ended, d.cancel, d.letTooLate, d.drainAnew, d.drainShort, d.drain)
	d.countDrain()
	return o
}

// countDrain counts until now, and on from here where the node is isolated. What is placed on it
// while the taint is missing is asked to leave too.
func (d *decision) countDrain() {
	if r := d.Record.Drain; r != nil {
		r.Spent.Duration, r.CountedAt = facts.DrainTook(d.Record, d.Now), nil
		if !d.Seen.Node.Taint {
			r.IsolatedAt = nil
		}
		if d.Record.Phase == api.Draining && r.IsolatedAt != nil {
			r.CountedAt = d.At(0)
		}
	}
}

// letTooLate: the gate's yes was saved so late that another node may drain instead by now (S14, S17).
func (d *decision) letTooLate() outcome {
	r := d.Record.Drain
	if r == nil || r.LetAt == nil {
		return goOn
	}
	late := !d.Within(r.LetAt, facts.DecisionValidity)
	if r.LetAt = nil; !late {
		return goOn
	}
	return d.enter(api.Pending, api.DecisionExpired, "let drain too long ago; asking again")
}

// drainAnew goes back to the gate where the policies have changed, or nothing says that it drains.
func (d *decision) drainAnew() outcome {
	if d.Record.Drain != nil && !d.Seen.Brakes.Changed {
		return goOn
	}
	return d.enter(api.Pending, api.PolicyChanged, "the policies have changed: deciding anew")
}

// drainShort ends a drain for which there is no reason any more.
func (d *decision) drainShort() outcome {
	end, why := d.DrainCutShort()
	if end == "" {
		return goOn
	}
	d.drainStops(end)
	return d.enter(api.Pending, api.DrainCutShort, why)
}

// drainStops ends a drain that goes on, but for a person's word: that may not be believed.
func (d *decision) drainStops(how api.DrainEnd) {
	if d.DrainGoesOn() && !d.ConfirmAsked() {
		d.drainEnds(how)
	}
}

func (d *decision) drainEnds(how api.DrainEnd) {
	d.Record.Drain.Ended, d.Record.Drain.EndedAt = how, d.At(0)
}

// drain isolates the node, asks its pods to leave, and waits until they have. That is saved first. If
// the process dies on the next line, the next one asks again, each pod by its UID.
func (d *decision) drain() outcome {
	r, on, n := d.Record.Drain, d.Seen.Draining, d.Seen.Node
	if on != nil {
		r.PodsLeft = int32(len(on.Evict) + len(on.Leaving))
	}
	switch {
	case on != nil && n.Taint && r.PodsLeft == 0:
		r.Left = ""
		d.drainEnds(api.DrainEmpty)
		return d.enter(api.Pending, api.Drained, on.Words())
	case d.DrainTimeUp():
		return d.drainTimedOut()
	case !n.Taint:
		return d.markAgain(on)
	case on == nil:
		return d.stay(d.Record.Reason, d.Record.Message, facts.DrainPoll) // not seen is not empty
	}
	if r.IsolatedAt == nil {
		r.IsolatedAt = d.At(0)
	}
	return d.askPods(on)
}

// markAgain marks the node. MESSAGE says so where that was done before (S28).
func (d *decision) markAgain(on *observed.Draining) outcome {
	if on != nil && d.Record.Placed.Taint {
		d.drainsOn(api.NodeDraining, facts.TaintMissing+on.Words())
	}
	return d.mark()
}

// askPods asks those to leave that may be asked, now and then, and says what holds them.
func (d *decision) askPods(on *observed.Draining) outcome {
	r, left := d.Record.Drain, on.Words()
	switch e := d.Seen.Evicted; {
	case !d.Lives():
		return d.drainsOn(api.NodeDraining, "no pod is asked to leave while the node is not Ready, or its Lease does not move; "+left)
	case e != nil && len(e.Held)+len(e.Failed) > 0:
		why := api.NodeDraining
		if len(e.Held) > 0 {
			why = api.DisruptionBudget
		}
		return d.drainsOn(why, fmt.Sprintf("%d pods may not leave now, and are asked again: %s", len(e.Held)+len(e.Failed), observed.Some(slices.Concat(e.Held, e.Failed))))
	case e == nil && len(on.Evict) > 0 && !d.Within(r.AskedAt, facts.DrainPoll-1):
		r.AskedAt = d.At(0)
		r.Rounds++
		return d.carryOut(Evict)
	case e == nil && len(on.Evict) > 0:
		return d.drainsOn(d.Record.Reason, d.Record.Message)
	}
	return d.drainsOn(api.NodeDraining, left)
}

// drainsOn stays, and says where the drain stands. Of each reason the story has one sentence: the
// others would push the rest of it out.
func (d *decision) drainsOn(why api.Reason, msg string) outcome {
	story := d.Record.History
	told := slices.ContainsFunc(story, func(h api.HistoryEntry) bool { return h.Phase == api.Draining && h.Reason == why })
	d.Record.Drain.Left = clip.Message(msg)
	o := d.stay(why, msg, d.DrainDue())
	if told {
		d.Record.History = story
	}
	return o
}

// drainTimedOut goes on to the cut, or gives the fence up, as the policy says. One whose reason stays
// goes back to the gate without our marks, and waits there (givenUp).
func (d *decision) drainTimedOut() outcome {
	r, s := d.Record.Drain, d.Decision.Settings.Drain
	if r.Left == "" {
		r.Left = "nobody has seen its pods"
	}
	msg := "not empty after " + s.Timeout.Duration.String() + ": " + r.Left
	if s.OnTimeout != api.DrainThenGiveUp {
		d.drainEnds(api.DrainTimeIsOver)
		return d.enter(api.Pending, api.DrainTimedOut, msg)
	}
	d.drainEnds(api.DrainGivenUp)
	msg += "; nothing is cut (drain.onTimeout: GiveUp)"
	if !d.ReasonStays() {
		return d.undoNow(api.DrainTimedOut, msg)
	}
	d.Record.Outcome = api.SentBack
	return d.leave(api.Recovering, api.DrainTimedOut, msg)
}

package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// Only here is it written where a fence stands: its phase, why, in which words, and when it
// is looked at next. A rule that comes to something returns an outcome, and what comes
// after it is not asked any more.

// outcome is what a rule comes to. The zero one says nothing: the next rule is asked.
type outcome struct {
	// decided: the record says where the fence stands, and no other rule is asked.
	decided bool
	// act is the one thing to do next.
	act Action
}

var (
	// goOn is that of a rule that has nothing to say.
	goOn = outcome{}
	// settled is that nothing is to be done now: the fence is looked at again.
	settled = outcome{decided: true}
)

// doing has one action carried out.
func doing(a Action) outcome { return outcome{decided: true, act: a} }

// first asks rules in turn, and is what the first of them comes to that says anything.
func first(rules ...func() outcome) outcome {
	for _, rule := range rules {
		if o := rule(); o.decided {
			return o
		}
	}
	return goOn
}

// opens begins the first phase of a fence.
func (d *decision) opens(msg string) {
	d.st.Phase, d.st.PhaseSince = api.Pending, d.at(0)
	d.st.Transitions++
	d.tell(api.Opened, msg)
}

// unscheduled forgets when the fence was to be looked at: this is that look.
func (d *decision) unscheduled() { d.st.NextLook = nil }

// scheduled has a fence looked at within a resync at the latest, as long as it is open (S19).
func (d *decision) scheduled() {
	if d.st.Phase != api.Finished && d.st.NextLook == nil {
		d.st.NextLook = d.at(Resync)
	}
}

// said tells whether the last sentence has one of these reasons. What is told next may
// depend on it, and nothing that is done.
func (d *decision) said(reasons ...api.Reason) bool { return slices.Contains(reasons, d.st.Reason) }

// enter enters a phase. Recovering and Fenced are entered by leave.
func (d *decision) enter(p api.Phase, why api.Reason, msg string) outcome {
	if p != d.st.Phase {
		if a := d.st.ActivityChecks; a != nil {
			a.Reading = a.Reading && p == api.Probing
		}
		d.st.Power.FirstOff = nil // half a proof does not outlive its phase (S3)
		if !p.HoldsSlot() && p != api.Failed && d.st.Awaited != nil {
			d.st.Awaited = nil
			d.restartIsolation() // its devices are not left alone under the next slot
		}
		d.st.Phase, d.st.PhaseSince = p, d.at(0)
		d.st.Transitions++
		if p == api.PoweringOn {
			d.st.Power.Level, d.st.Power.LastRead, d.st.Retries, d.st.Power.SupplyTries = d.highestCut(), nil, 0, 0 // S9; its tries are of this step
		}
	}
	d.tell(why, msg)
	d.lookAfter(Handover)
	if p == api.Finished {
		d.st.NextLook, d.st.Claim = nil, nil
		d.lastWords()
	}
	return settled
}

// leave is done with the machine, and enters Recovering or Fenced. What we cut off is given
// back first, in Restoring, which then goes on to that phase (S25).
func (d *decision) leave(p api.Phase, why api.Reason, msg string) outcome {
	if d.st.Phase == api.Restoring || !d.owesBack() {
		return d.enter(p, why, msg)
	}
	d.st.Restore = &api.RestoreRecord{Then: p, Reason: why, Message: clip.Message(msg)}
	for i := range d.st.Isolation {
		r := &d.st.Isolation[i]
		r.LastRead, r.FirstCut, r.OnAt = nil, nil, nil
		if d.st.Outcome != api.SentBack { // which may come again and again, and is to come less and less often
			r.NotBefore, r.Tries = nil, 0
		}
	}
	return d.enter(api.Restoring, why, msg)
}

// proveAnew goes back from a release whose proof holds no more. Where there is no power to be
// looked at, the proof is made by the cut that it rests on.
func (d *decision) proveAnew(why api.Reason, msg string) outcome {
	if CutOnly(d.dec) && !d.confirmAsked() {
		return d.enter(api.Isolating, why, msg)
	}
	return d.enter(api.Fencing, why, msg)
}

// stay stays, says why, and asks to be looked at again.
func (d *decision) stay(why api.Reason, msg string, again time.Duration) outcome {
	d.tell(why, msg)
	d.lookAfter(again)
	return settled
}

// carryOut asks for an action on Kubernetes. If we die in it, the record is due again soon.
func (d *decision) carryOut(a Action) outcome {
	d.lookAfter(ActWithin)
	return doing(a)
}

// aside is a sentence of the story that does not say where the fence stands.
func (d *decision) aside(why api.Reason, msg string) {
	reason, message := d.st.Reason, d.st.Message
	d.tell(why, msg)
	d.st.Reason, d.st.Message = reason, message
}

// tell adds a sentence to the story, unless it is the last one over again.
func (d *decision) tell(why api.Reason, msg string) {
	msg = clip.Message(msg)
	d.st.Reason, d.st.Message = why, msg
	if n := len(d.st.History); n > 0 {
		last := d.st.History[n-1]
		if last.Phase == d.st.Phase && last.Reason == why && last.Message == msg {
			return
		}
	}
	d.st.History = append(d.st.History, api.HistoryEntry{At: d.time(), Phase: d.st.Phase, Reason: why, Message: msg})
	if len(d.st.History) > maxHistory {
		// The beginning says why, the end says where it stands: the middle goes.
		keep := maxHistory / 4
		d.st.History = append(d.st.History[:keep:keep], d.st.History[keep+1:]...)
	}
}

func (d *decision) lookAfter(after time.Duration) { d.st.NextLook = d.at(after) }

func (d *decision) lookAt(t time.Time) {
	if t.Before(d.now) {
		t = d.now
	}
	d.st.NextLook = d.stamp(t)
}

// wakeAt asks to be looked at again at t. Who was woken shortly before t has a
// clock that runs behind that of whoever woke it: it asks for as much later.
func (d *decision) wakeAt(t time.Time) {
	if early := t.Sub(d.now); early < time.Second {
		t = t.Add(early + 20*time.Millisecond)
	}
	d.lookAt(t)
}

// waitUntil asks to be looked at again at t, and each resync before it.
func (d *decision) waitUntil(t time.Time) outcome {
	if d.wakeAt(t); t.Sub(d.now) > Resync {
		d.lookAfter(Resync)
	}
	return settled
}

// restartIsolation begins the tries anew. What we cut and what was seen stands (S26).
func (d *decision) restartIsolation() {
	for i := range d.st.Isolation {
		r := &d.st.Isolation[i]
		r.Tries, r.NotBefore, r.GaveUp, r.LastRead, r.FirstCut = 0, nil, false, nil, nil
		if !r.SwitchedByUs {
			r.SeenCutAt = nil
		}
	}
}

// lastWords says of what was accepted that it is carried out, as the record ends.
func (d *decision) lastWords() {
	for i := range d.st.Answers {
		if a := &d.st.Answers[i]; a.Result == api.Accepted {
			a.Result, a.AnsweredAt, a.Message = api.Done, d.time(), "the fence is ended"
		}
	}
}

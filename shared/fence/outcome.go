package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Action is the one thing to do next.
type Action string

// The actions.
const (
	None Action = ""
	// Resolve the device binding and save it in the record. A fence that was refused a slot before is
	// asked for first, and nothing is resolved where it is refused again, unless what is decided then
	// asks for it once more. Owner: gate.
	Resolve Action = "Resolve"
	// Reserve a slot on the ledger. Owner: gate.
	Reserve Action = "Reserve"
	// AskDrain asks whether all that bounds a fence lets this one drain its node. Owner: gate.
	AskDrain Action = "AskDrain"
	// AskChecks asks whether all that bounds a fence lets a round of this one's checks begin, and
	// whether its Jobs may run beside those of other fences. Owner: gate.
	AskChecks Action = "AskChecks"
	// DryReserve, DryDrain and DryChecks ask what Reserve, AskDrain and AskChecks ask, for a fence under a policy in
	// mode DryRun: what the ledger reserves then counts for such fences alone. Owner: gate.
	DryReserve Action = "DryReserve"
	DryDrain   Action = "DryDrain"
	DryChecks  Action = "DryChecks"
	// Evict asks pods of a node that lives to leave. Owner: cleanup.
	Evict Action = "Evict"
	// Check asks the checks of the round under way. Owner: gate.
	Check Action = "Check"
	// Isolate places taint and cordon. Owners: isolate, cleanup.
	Isolate Action = "Isolate"
	// Read, Off, On are the words with a device. Owner: power, and isolate for what
	// the claim names of status.decision.devices.
	Read Action = "Read"
	Off  Action = "Off"
	On   Action = "On"
	// MarkNotReady sets Ready=Unknown. Owner: cleanup.
	MarkNotReady Action = "MarkNotReady"
	// Release sets the out-of-service taint and force-deletes, as the policy's
	// cleanup says. Owner: cleanup.
	Release Action = "Release"
	// DeletePods force-deletes pods, and does no more: no taint, no attachment. Owner: cleanup.
	DeletePods Action = "DeletePods"
	// DeleteNode deletes the Node object of a machine that stays off. Owner: cleanup.
	DeleteNode Action = "DeleteNode"
	// DeleteMachine deletes a Machine that has no node. Owner: power.
	DeleteMachine Action = "DeleteMachine"
	// ClearOutOfService removes that taint, and fails what is about to place it. Owners: cleanup, isolate, recover.
	ClearOutOfService Action = "ClearOutOfService"
	// Undo removes taint and cordon. Owner: recover.
	Undo Action = "Undo"
	// WriteReport creates the FenceReport of a fence that ends. Owner: recover.
	WriteReport Action = "WriteReport"
	// DropFinalizer lets the record go. Owner: recover.
	DropFinalizer Action = "DropFinalizer"
)

// Device tells whether the action is a call to a device; one invocation makes
// at most one of them (S7).
func (a Action) Device() bool { return a == Read || a == Off || a == On }

// Only here is it written where a fence stands: its phase, why, in which words, and when it is looked at next. A
// rule that comes to something returns an outcome, and what comes after it is not asked any more.

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
	d.Record.Phase, d.Record.PhaseSince = api.Pending, d.At(0)
	d.Record.Transitions++
	d.tell(api.Opened, msg)
}

// unscheduled forgets when the fence was to be looked at: this is that look.
func (d *decision) unscheduled() { d.Record.NextLook = nil }

// scheduled has a fence looked at within a resync at the latest, as long as it is open (S19).
func (d *decision) scheduled() {
	if d.Record.Phase != api.Finished && d.Record.NextLook == nil {
		d.Record.NextLook = d.At(facts.Resync)
	}
}

// enter enters a phase. Recovering and Fenced are entered by leave.
func (d *decision) enter(p api.Phase, why api.Reason, msg string) outcome {
	if p != d.Record.Phase {
		if a := d.Record.ActivityChecks; a != nil {
			a.Reading = a.Reading && p == api.Probing
		}
		d.Record.Power.FirstOff = nil // half a proof does not outlive its phase (S3)
		if !p.HoldsSlot() && p != api.Failed && d.Record.Awaited != nil {
			d.Record.Awaited = nil
			d.restartIsolation() // its devices are not left alone under the next slot
		}
		d.Record.Phase, d.Record.PhaseSince = p, d.At(0)
		d.Record.Transitions++
		if p == api.PoweringOn {
			d.Record.Power.Level, d.Record.Power.LastRead, d.Record.Retries, d.Record.Power.SupplyTries = d.HighestCut(), nil, 0, 0 // S9; its tries are of this step
		}
	}
	d.tell(why, msg)
	d.lookAfter(facts.Handover)
	if p == api.Finished {
		d.Record.NextLook, d.Record.Claim = nil, nil
		d.lastWords()
	}
	return settled
}

// leave is done with the machine, and enters Recovering or Fenced. What we cut off is given
// back first, in Restoring, which then goes on to that phase (S25).
func (d *decision) leave(p api.Phase, why api.Reason, msg string) outcome {
	if d.Record.Phase == api.Restoring || !d.OwesBack() {
		return d.enter(p, why, msg)
	}
	d.Record.Restore = &api.RestoreRecord{Then: p, Reason: why, Message: clip.Message(msg)}
	for i := range d.Record.Isolation {
		r := &d.Record.Isolation[i]
		r.LastRead, r.FirstCut, r.OnAt = nil, nil, nil
		if d.Record.Outcome != api.SentBack { // which may come again and again, and is to come less and less often
			r.NotBefore, r.Tries = nil, 0
		}
	}
	return d.enter(api.Restoring, why, msg)
}

// proveAnew goes back from a release whose proof holds no more. Where there is no power to be
// looked at, the proof is made by the cut that it rests on.
func (d *decision) proveAnew(why api.Reason, msg string) outcome {
	if facts.CutOnly(d.Decision) && !d.ConfirmAsked() {
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
	d.lookAfter(facts.ActWithin)
	return doing(a)
}

// aside is a sentence of the story that does not say where the fence stands.
func (d *decision) aside(why api.Reason, msg string) {
	reason, waits, message := d.Record.Reason, d.Record.WaitsFor, d.Record.Message
	d.tell(why, msg)
	d.Record.Reason, d.Record.WaitsFor, d.Record.Message = reason, waits, message
}

// tell adds a sentence to the story, unless it is the last one over again.
func (d *decision) tell(why api.Reason, msg string) {
	msg = clip.Message(msg)
	d.Record.Reason, d.Record.WaitsFor, d.Record.Message = why, waits[why], msg
	if n := len(d.Record.History); n > 0 {
		last := d.Record.History[n-1]
		if last.Phase == d.Record.Phase && last.Reason == why && last.Message == msg {
			return
		}
	}
	d.Record.History = append(d.Record.History, api.HistoryEntry{At: d.Time(), Phase: d.Record.Phase, Reason: why, Message: msg})
	if len(d.Record.History) > facts.MaxHistory {
		// The beginning says why, the end says where it stands: the middle goes.
		keep := facts.MaxHistory / 4
		d.Record.History = append(d.Record.History[:keep:keep], d.Record.History[keep+1:]...)
	}
}

func (d *decision) lookAfter(after time.Duration) { d.Record.NextLook = d.At(after) }

func (d *decision) lookAt(t time.Time) {
	if t.Before(d.Now) {
		t = d.Now
	}
	d.Record.NextLook = d.Stamp(t)
}

// wakeAt asks to be looked at again at t. Who was woken shortly before t has a
// clock that runs behind that of whoever woke it: it asks for as much later.
func (d *decision) wakeAt(t time.Time) {
	if early := t.Sub(d.Now); early < time.Second {
		t = t.Add(early + 20*time.Millisecond)
	}
	d.lookAt(t)
}

// waitUntil asks to be looked at again at t, and each resync before it.
func (d *decision) waitUntil(t time.Time) outcome {
	if d.wakeAt(t); t.Sub(d.Now) > facts.Resync {
		d.lookAfter(facts.Resync)
	}
	return settled
}

// restartIsolation begins the tries anew. What we cut and what was seen stands (S26).
func (d *decision) restartIsolation() {
	for i := range d.Record.Isolation {
		r := &d.Record.Isolation[i]
		r.Tries, r.NotBefore, r.GaveUp, r.LastRead, r.FirstCut = 0, nil, false, nil, nil
		if !r.SwitchedByUs {
			r.SeenCutAt = nil
		}
	}
}

// lastWords says of what was accepted that it is carried out, as the record ends.
func (d *decision) lastWords() {
	for i := range d.Record.Answers {
		if a := &d.Record.Answers[i]; a.Result == api.Accepted {
			a.Result, a.AnsweredAt, a.Message = api.Done, d.Time(), "the fence is ended"
		}
	}
}

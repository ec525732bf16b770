package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The activity checks are made in Pending, before a slot is reserved, so that no
// check keeps another node waiting. Two witnesses are needed for dead: the Lease,
// which the API server was seen to get no renewal of, and the policy's checks.
// That reading of "one witness is never enough" was chosen over two kinds of
// check, because the Lease and a check fail for different reasons (the way to the
// API server, the way to the node) where two checks of one way would not.

// noteChecks keeps what the checks of this invocation said, and ends a round whose
// time is over or whose checks have answered, so that no answer is weighed later
// than it came. An answer of a round that has ended counts for nothing.
func (d *decision) noteChecks() {
	c := d.Seen.Checked
	if a := d.Record.ActivityChecks; a != nil && a.Degraded {
		for _, at := range []**api.Time{&a.DegradedSince, &a.EndedAt} {
			if *at == nil {
				*at = d.At(0) // a record that does not say since when: the time runs from now (S17)
			}
		}
	}
	hear := func(r *api.CheckRound, storage bool, timeout time.Duration) (ended bool) {
		if r.StartedAt == nil {
			return false
		}
		if c != nil && c.Storage == storage && c.Round == r.Number {
			r.Results = c.Results
		}
		d.spareDevice(r)
		if !r.Answered() && d.Since(r.StartedAt) <= timeout+facts.CheckGrace {
			return false
		}
		d.end(r, timeout)
		return true
	}
	if p, r := d.Decision.Settings.StorageCheck, d.Record.StorageCheck; p != nil && r != nil {
		hear(r, true, p.Timeout.Duration)
	}
	d.noteDevice()
	if p, a := d.Decision.Settings.ActivityChecks, d.Record.ActivityChecks; p != nil && a != nil && hear(&a.CheckRound, false, p.CheckTimeout.Duration) {
		d.weigh(p, a)
	}
}

func (d *decision) end(r *api.CheckRound, timeout time.Duration) {
	if len(r.Results) == 0 {
		r.Results = []api.CheckResult{{Check: "all"}}
	}
	for i := range r.Results {
		if r.Results[i].Answer == "" {
			r.Results[i].Answer, r.Results[i].Message = api.AnswerError, "no answer within "+timeout.String()
		}
	}
	r.StartedAt, r.EndedAt = nil, d.At(0)
}

// checking asks round after round until the node counts as dead or as alive.
func (d *decision) checking() outcome {
	p := d.Decision.Settings.ActivityChecks
	if d.Record.ActivityChecks == nil {
		d.Record.ActivityChecks = &api.ActivityRecord{}
	}
	a := d.Record.ActivityChecks
	if a.Degraded {
		if o := d.degraded(p, a); o.decided {
			return o
		}
	}
	if wait := p.Interval.Duration - d.Since(a.EndedAt); a.StartedAt == nil && wait > 0 && !observed.Ahead(a.EndedAt.Time, d.Now) {
		d.stay(api.CheckingActivity, d.RoundWords()+"; "+a.Saw, 0)
		return d.waitUntil(d.Now.Add(wait))
	}
	if _, last := a.CheckRound.Unread(facts.DeviceSuffix); last {
		return d.toDevice()
	}
	return d.ask(&a.CheckRound, "asking whether the node is active")
}

// roundWaits holds a round until the gate has asked all limits, and its Jobs may run (S14, S15). No slot
// is reserved by that: the fence passes the whole gate again once its checks are over.
func (d *decision) roundWaits() outcome {
	if o := d.fencedTooOften(); o.decided || d.Seen.MayCheck {
		return o
	}
	if v := d.Seen.Verdict; v != nil {
		return d.stay(v.Reason, v.Message, v.Again)
	}
	return d.carryOut(AskChecks)
}

// ask begins a round, and has its checks asked, once an invocation.
func (d *decision) ask(r *api.CheckRound, msg string) outcome {
	if r.StartedAt == nil {
		if o := d.roundWaits(); o.decided {
			return o
		}
		r.Number++
		r.Since, r.Results, r.StartedAt = r.EndedAt, nil, d.At(0)
		switch {
		case r.Since == nil && d.Record.OpenedAt != nil:
			r.Since = d.Record.OpenedAt.DeepCopy()
		case r.Since == nil:
			r.Since = d.At(0)
		case observed.Ahead(r.Since.Time, d.Now):
			r.Since = d.At(0) // the API server's clock was set back: a Lease that moves now moves since then
		}
		if d.Record.WaitsFor != api.WaitsForChecks {
			d.tell(api.CheckingActivity, msg+d.tellWaivers()) // the rounds after it have their ends told
		}
	}
	if d.Seen.Checked == nil {
		return d.carryOut(Check)
	}
	d.lookAfter(facts.CheckPoll)
	return settled
}

// weigh counts a round that has ended.
func (d *decision) weigh(p *api.ActivitySettings, a *api.ActivityRecord) {
	answer, what := d.RoundSaid(&a.CheckRound)
	a.Saw = clip.Message(what)
	switch answer {
	case api.AnswerActivity:
		d.degrade(a)
	case api.AnswerNone, api.AnswerNeither:
		a.Done++
		if answer == api.AnswerNone {
			a.Failed, a.FailedAt = a.Failed+1, a.EndedAt
		}
		switch {
		case answer == api.AnswerNone && facts.Dead(p, a):
			a.DegradedSince = nil
			d.tell(api.NoActivity, d.RoundWords()+", and the Lease stands still: the node counts as dead; "+what)
		case a.Done >= p.Rounds:
			a.Saw = fmt.Sprintf("%d of %d rounds failed, and %d count as dead", a.Failed, p.Rounds, p.FailedRounds)
			d.degrade(a)
		}
	default:
		a.Errored++
		a.Saw = clip.Message("the last one went wrong, which is neither activity nor its absence: " + what)
	}
}

// degrade: unhealthy, and alive. The counts begin anew, the time goes on.
func (d *decision) degrade(a *api.ActivityRecord) {
	a.Done, a.Failed, a.Errored, a.FailedAt, a.Degraded = 0, 0, 0, nil, true
	if a.DegradedSince == nil {
		a.DegradedSince = a.EndedAt.DeepCopy()
	}
}

// degraded leaves a living node alone until it is checked again, or was degraded
// for too long and the policy says how it goes on.
func (d *decision) degraded(p *api.ActivitySettings, a *api.ActivityRecord) outcome {
	over, again := a.DegradedSince.Add(p.AliveTimeout.Duration), a.EndedAt.Add(p.RecheckInterval.Duration)
	since := d.AliveSince()
	switch {
	case !over.After(d.Now):
		return d.awaitApproval(d.TooLong())
	case !again.After(d.Now):
		a.Degraded = false
		d.tell(api.CheckingActivity, since+"; suspected again")
		return goOn
	}
	d.stay(api.ActivitySeen, since+"; checked again at "+again.UTC().Format(time.RFC3339), 0)
	if over.Before(again) {
		again = over
	}
	return d.waitUntil(again)
}

// storageDown asks the policy's storageCheck, and holds while it says that the
// storage is unreachable for everyone.
func (d *decision) storageDown() outcome {
	p := d.Decision.Settings.StorageCheck
	if p == nil {
		return goOn
	}
	if d.Record.StorageCheck == nil {
		d.Record.StorageCheck = &api.CheckRound{}
	}
	r := d.Record.StorageCheck
	if r.StartedAt != nil || !d.Within(r.EndedAt, p.ValidDuration.Duration) {
		return d.ask(r, "asking whether the storage is reachable")
	}
	for _, c := range r.Results {
		switch {
		case c.Answer == api.AnswerNone:
			d.stay(api.StorageUnreachable, "the storage is unreachable for everyone: "+c.Check+": "+c.Message, 0)
			return d.waitUntil(r.EndedAt.Add(p.ValidDuration.Duration + time.Millisecond))
		case c.Answer == api.AnswerError && r.EndedAt.Time.Equal(d.At(0).Time):
			d.tell(api.CheckingActivity, "the storage check went wrong, which holds nothing: "+c.Check+": "+c.Message)
		}
	}
	return goOn
}

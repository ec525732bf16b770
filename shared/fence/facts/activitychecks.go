package facts

import (
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	// CheckPoll lies between two looks at a Job that runs.
	CheckPoll = 2 * time.Second
	// CheckGrace is what a check may take beyond its timeout, to be scheduled and
	// to be seen to have ended.
	CheckGrace = 30 * time.Second
	// ChecksBegin is how long a yes to a round of checks is valid.
	ChecksBegin = 15 * time.Second
)

// Doubtful: the policy has activity checks, and they have not found this node dead yet.
// Whoever asked, approved or confirmed has answered that already.
func (d *Facts) Doubtful() bool {
	p, a := d.Decision.Settings.ActivityChecks, d.Record.ActivityChecks
	switch {
	case p == nil || d.MachineWithoutNode() || d.AskedFor() || d.ConfirmAsked() || Approved(d.Requests, d.Record):
		return false
	case a == nil:
		return true
	case a.Degraded:
		return p.OnAliveTimeout != api.AliveFence || d.Since(a.DegradedSince) < p.AliveTimeout.Duration
	}
	return !Dead(p, a) || !d.Within(a.FailedAt, p.RecheckInterval.Duration)
}

// Dead: so many rounds have failed as the policy says.
func Dead(p *api.ActivitySettings, a *api.ActivityRecord) bool {
	return a.Failed >= p.FailedRounds
}

// RoundSaid is what a round says: alive by one witness, dead only by the Lease
// standing still and every check, and neither otherwise.
func (d *Facts) RoundSaid(r *api.CheckRound) (api.Answer, string) {
	if r.Since == nil {
		return api.AnswerError, "the record does not say since when the Lease is watched for this round"
	}
	if d.LeaseMovedSince(*r.Since) {
		return api.AnswerActivity, "its Lease moved"
	}
	said := map[api.Answer][]string{}
	for _, c := range r.Results {
		said[c.Answer] = append(said[c.Answer], c.Check+": "+c.Message)
	}
	for _, a := range []api.Answer{api.AnswerActivity, api.AnswerError} {
		if len(said[a]) > 0 {
			return a, strings.Join(said[a], "; ")
		}
	}
	switch {
	case len(said[api.AnswerNone])+len(said[api.AnswerNeither]) == 0:
		return api.AnswerError, "no check has answered"
	case !d.Seen.Lease.Exists:
		return api.AnswerError, "the node has no Lease that could be seen to stand still"
	case d.LeaseFresh():
		return api.AnswerError, "the Lease has not yet stood still for two renewals"
	}
	if len(said[api.AnswerNone]) == 0 {
		return api.AnswerNeither, strings.Join(said[api.AnswerNeither], "; ")
	}
	return api.AnswerNone, strings.Join(append(said[api.AnswerNone], said[api.AnswerNeither]...), "; ")
}

const DeviceSuffix = " device"

// DeviceCheck names the check of the machine's device at this place of the policy.
func DeviceCheck(place int) string { return fmt.Sprint(place) + DeviceSuffix }

// Reading: the machine is read as a check.
func (d *Facts) Reading() bool {
	return d.Record.Phase == api.Probing && d.Record.ActivityChecks != nil && d.Record.ActivityChecks.Reading
}

// ProbeReason is what a fence waits for whose machine is read and not touched.
func (d *Facts) ProbeReason() api.Reason {
	if d.Decision.Settings.Action == api.ActionWaitForOff {
		return api.WaitingForConfirmation
	}
	return api.LeaseStandsStill
}

// Alive is why nothing is done, in words.
func (d *Facts) Alive() string {
	how := "can't be read"
	if r := d.Record.Power.LastRead; r != nil && r.State == api.PoweredOn {
		how = "is on"
	}
	if d.Decision.Settings.Action == api.ActionWaitForOff {
		return "the machine " + how + ", and under policy " + d.Decision.Policy.Name +
			" it is never switched: its work is released when it reads off, or a person confirms that it is off (spec.requests.confirmOff)"
	}
	return "its Lease stands still and the machine " + how + ": no command before a condition of the policy has held for its time"
}

// Pace lies between two such reads: a quarter of the time that it has been waited for.
func (d *Facts) Pace() time.Duration {
	if d.Decision.Settings.Action == api.ActionWaitForOff {
		return min(max(Resync/3, d.Since(d.Record.OpenedAt)/4), SlowRetry) // nothing is about to speak for it
	}
	return min(max(ProbePoll, d.Since(d.Record.Lease.StillSince)/4), SlowRetry)
}

// AliveSince says since when the node is unhealthy and alive.
func (d *Facts) AliveSince() string {
	a := d.Record.ActivityChecks
	return "unhealthy and alive since " + a.DegradedSince.UTC().Format(time.RFC3339) + " (" + a.Saw + ")"
}

// TooLong says that this is longer than the policy has it wait.
func (d *Facts) TooLong() string {
	return d.AliveSince() + ", which is longer than " + d.Decision.Settings.ActivityChecks.AliveTimeout.Duration.String() + ": "
}

// Though says of a fence that begins that the node was seen alive, and is fenced for
// that all the same; empty of any other (S28).
func (d *Facts) Though() string {
	p, a := d.Decision.Settings.ActivityChecks, d.Record.ActivityChecks
	if p == nil || a == nil || !a.Degraded || p.OnAliveTimeout != api.AliveFence || d.Since(a.DegradedSince) < p.AliveTimeout.Duration {
		return ""
	}
	return "; " + d.TooLong() + "going on, as the policy says (activityChecks.onAliveTimeout)"
}

// RoundWords say how far the rounds have come.
func (d *Facts) RoundWords() string {
	p, a := d.Decision.Settings.ActivityChecks, d.Record.ActivityChecks
	if p == nil || a == nil {
		return "the policy has no activity checks"
	}
	return fmt.Sprintf("%d of %d rounds done, %d failed, %d went wrong", a.Done, p.Rounds, a.Failed, a.Errored)
}

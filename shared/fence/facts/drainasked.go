package facts

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Who asks says whether a node is drained, and whether it is drained once more.

// SkipsDrain is who wants the node not to be drained, and whose request is still carried out; nil if
// nobody does.
func (d *Facts) SkipsDrain() *api.AskedBy {
	for i := range d.Decision.AskedBy {
		if a := &d.Decision.AskedBy[i]; a.Drain == api.DrainSkip && d.asksStill(a) {
			return a
		}
	}
	return nil
}

// asksStill: what this one asks for is still carried out.
func (d *Facts) asksStill(a *api.AskedBy) bool {
	asks := *a
	asks.JoinedAt = *d.Stamp(askedAt(a, d.Record))
	return asks.Within(askedWithin(d.Decision, d.Record, asks.JoinedAt.Time, d.Now))
}

// ReasonStays: a condition of the policy holds, or a program asks for this fence that has reported
// lately, and would again. A user's request alone is answered by one drain.
func (d *Facts) ReasonStays() bool {
	return d.Unhealthy() || slices.ContainsFunc(d.Decision.AskedBy, func(a api.AskedBy) bool {
		return !a.AsksAnew() && d.asksStill(&a)
	})
}

// DrainsAnew: a drain that was given up is to be tried again: a user has asked since, or the policy
// gives it more time.
func (d *Facts) DrainsAnew() bool { return d.DrainAskedAnew() || d.DrainHasTime() }

// DrainAskedAnew: a user has asked for the fence since its drain was given up.
func (d *Facts) DrainAskedAnew() bool {
	return d.Record.Drain.GivenUp() && slices.ContainsFunc(d.Decision.AskedBy, func(a api.AskedBy) bool {
		return a.AsksAnew() && a.JoinedAt.After(d.Record.Drain.EndedAt.Time) && d.asksStill(&a)
	})
}

// DrainHasTime: the policy's time for the drain, which was given up, has become longer than it took.
func (d *Facts) DrainHasTime() bool {
	return d.Record.Drain.GivenUp() && DrainTook(d.Record, d.Now) < d.Decision.Settings.Drain.Timeout.Duration
}

// RequestEnds says how a fence ends for which nobody has asked lately, and why. One whose drain was given
// up was carried out as far as its policy lets it.
func (d *Facts) RequestEnds() (api.Reason, string) {
	why := "asked for more than " + api.RequestValidity.String() + " ago and not begun since"
	switch at := LastAsked(d.Decision); {
	case at.After(d.Now):
		why = "asked for at " + at.UTC().Format(time.RFC3339) + ", which is still to come: the API server's clock was set back, and nobody knows how long ago that was"
	case d.Record.Drain.GivenUp():
		why = "nobody has asked or reported for " + api.RequestValidity.String()
	}
	if d.Record.Drain.GivenUp() {
		return api.DrainTimedOut, why + "; " + d.Record.Drain.Left
	}
	return api.RequestExpired, why + d.UncutSoFar()
}

// GoesOn says how a fence that waits goes on for a request that joins it; empty if that changes
// nothing.
func (d *Facts) GoesOn(r api.AskedBy) string {
	switch gaveUp := d.Record.Drain.GivenUp(); {
	case gaveUp && r.Drain == api.DrainSkip:
		return "which goes on without a drain"
	case gaveUp && r.AsksAnew():
		return "which drains its node once more"
	case gaveUp:
		return "as its node could not be drained in time, and waits on"
	case !r.OfProblem() && !slices.ContainsFunc(d.Record.Decision.AskedBy, asksByItself):
		return "which goes on as asked for"
	}
	return ""
}

package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The numbers of the promises, as the walk holds every step against them. They are not
// those of the code: a wrong constant there must break a promise here.
const (
	promisedSettle    = 2 * time.Second
	promisedProof     = 30 * time.Second
	promisedDecision  = 60 * time.Second
	promisedResync    = 30 * time.Second
	promisedAct       = 10 * time.Second
	promisedRead      = 35 * time.Second // beyond the longest call
	promisedDump      = 5 * time.Second
	promisedDumpApart = 5 * time.Second
	promisedRequest   = 15 * time.Minute
	promisedGrace     = 30 * time.Second // that a check has beyond its own time
	promisedShow      = 45 * time.Second // until a Machine shows whether it was remediated
	promisedMinute    = time.Minute      // over which deletions are counted
	promisedJudged    = 8 * time.Minute  // that a node which is back is waited for to say its boot ID once more
	promisedClocks    = 2 * time.Second  // that two processes' clocks lie apart at most
)

// promisedReadOf is for how long an Off or On may follow a read (S9).
func promisedReadOf(d *api.Decision) time.Duration {
	return d.DeviceCallTimeout.Duration + promisedRead
}

// promisedLonger is by how much this fence's calls may take longer than the twenty seconds for
// which the other numbers are.
func promisedLonger(d *api.Decision) time.Duration {
	return max(0, d.DeviceCallTimeout.Duration-20*time.Second)
}

// promisedProofOf is for how long a proof holds (S3).
func promisedProofOf(d *api.Decision) time.Duration { return promisedProof + promisedLonger(d) }

// promisedShows is how long after the claim of an Off or On a machine may still read as before.
func promisedShows(d *api.Decision) time.Duration {
	return d.Settings.Power.OffTimeout.Duration + 2*promisedLonger(d)
}

// promisedDecisionOf is for how long a yes of the gate is one (S17).
func promisedDecisionOf(d *api.Decision) time.Duration { return promisedDecision + promisedLonger(d) }

// takenOver is from when the claim of a call counts no more: the call can't be under way by
// whichever clock (S7), and what it did has taken effect at any of the devices (S8).
func takenOver(d *api.Decision, st *api.NodeFenceStatus) time.Time {
	c := st.Claim
	over := c.NotAfter.Add(promisedClocks)
	if c.Call == api.CallRead {
		return over
	}
	var longest time.Duration
	for i := range d.Devices {
		longest = max(longest, d.Devices[i].EffectDelay.Duration)
	}
	over, until := over.Add(longest), st.Power.EffectUntil
	for i := range st.Isolation {
		if st.Isolation[i].Device == c.Device {
			until = st.Isolation[i].EffectUntil
		}
	}
	if until != nil && until.After(over) {
		return until.Time
	}
	return over
}

// CallElsewhere: another's call may be under way, so that nothing may be done.
func CallElsewhere(d *api.Decision, st *api.NodeFenceStatus, me string, now time.Time) bool {
	return st.Claim != nil && st.Claim.Holder != me && now.Before(takenOver(d, st))
}

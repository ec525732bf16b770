package admission

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The Jobs of checks are counted on the ledger over the whole cluster. A turn counts all Jobs of one round
// until their time is over, or until the gate that saw the last of these Jobs end removes the turn. That a
// fence waits for a turn stands in its record.

const (
	// askChecks is how soon a fence asks again that waits for Jobs of others to end.
	askChecks = 10 * time.Second
	// waitCounts is how long after its next look was due a fence that waits still comes before younger ones:
	// a fence whose gate does not look at it holds nobody.
	waitCounts = time.Minute
)

// AdmitChecks asks all that Admit asks, and whether the Jobs of one more round of checks may run. It reserves
// no slot. What AdmitChecks writes is the turn of the round. The turn replaces a turn of f that began no round: a gate
// that dies between the writes of ledger and record leaves such a turn. fences are all fences: a census does not show
// what they wait for.
func AdmitChecks(f *api.NodeFence, fences []api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	rebuildChecking(l, c, now)
	if v := refused(f, c, l, now, append(slices.Clone(toBegin), roomForJobsBeside(fences))...); v != nil {
		return v
	}
	s := &f.Status.Decision.Settings
	if jobs := CheckJobs(s); jobs > 0 {
		l.Status.Checking = slices.DeleteFunc(l.Status.Checking, func(t api.CheckingFence) bool { return beganNoRound(&t, f, c) })
		l.Status.Checking = append(l.Status.Checking, api.CheckingFence{
			NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, Jobs: jobs,
			At: observed.StampOf(now), Until: observed.StampOf(now.Add(facts.ChecksBegin + checkTime(s) + facts.CheckGrace)),
		})
	}
	return nil
}

// EndChecks removes the turn of the round of f's checks that began at startedAt, and tells whether there was
// one. The turn of a round before stays: its Jobs may still run.
func EndChecks(l *api.FenceLedger, f *api.NodeFence, startedAt time.Time) bool {
	newest := -1
	for i := range l.Status.Checking {
		t := &l.Status.Checking[i]
		if isTurnOf(t, f) && startedAt.Sub(t.At.Time) <= facts.ChecksBegin && (newest < 0 || !t.At.Before(&l.Status.Checking[newest].At)) {
			newest = i
		}
	}
	if newest < 0 {
		return false
	}
	l.Status.Checking = slices.Delete(l.Status.Checking, newest, newest+1)
	return true
}

// CheckJobs returns how many Jobs a round of checks has at most under these settings.
func CheckJobs(s *api.Settings) (jobs int32) {
	if p := s.ActivityChecks; p != nil {
		for _, c := range p.Checks {
			switch {
			case c.Type == api.CheckNeighbors && c.Neighbors != nil:
				jobs += c.Neighbors.Count
			case c.Type == api.CheckJob:
				jobs++
			}
		}
	}
	if p := s.StorageCheck; p != nil && p.Type == api.StorageJob {
		jobs = max(jobs, 1)
	}
	return jobs
}

// checkTime returns how long a Job of a round may run.
func checkTime(s *api.Settings) (longest time.Duration) {
	if p := s.ActivityChecks; p != nil {
		longest = p.CheckTimeout.Duration
	}
	if p := s.StorageCheck; p != nil {
		longest = max(longest, p.Timeout.Duration)
	}
	return longest
}

// StillNodes returns the nodes whose Lease stands still.
func StillNodes(l *api.FenceLedger) (nodes []string) {
	for _, s := range l.Status.Leases.Still {
		nodes = append(nodes, s.NodeName)
	}
	return nodes
}

// roomForJobsBeside returns the limit of Jobs, where these are all fences.
func roomForJobsBeside(fences []api.NodeFence) limit {
	return func(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		return roomForJobs(f, fences, c, l, now)
	}
}

// roomForJobs holds a round whose Jobs do not fit beside those that may run, and beside those of older fences
// that wait.
func roomForJobs(f *api.NodeFence, fences []api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	jobs, most := CheckJobs(&f.Status.Decision.Settings), l.Spec.CheckLimit()
	switch {
	case jobs == 0:
		return nil
	case jobs > most:
		return refuse(api.TooManyChecks, fmt.Sprintf("a round of its checks has %d Jobs, and %s is %d: raise it, or have fewer checks", jobs, limitOfChecks, most), facts.Resync)
	}
	used, ahead := int32(0), jobsAhead(f, fences, l, now)
	for _, t := range l.Status.Checking {
		if !beganNoRound(&t, f, c) {
			used += t.Jobs
		}
	}
	if used+ahead+jobs <= most {
		return nil
	}
	return refuse(api.TooManyChecks, fmt.Sprintf("%d Jobs of other checks may run, %d of older fences are next, this round has %d, and %s is %d", used, ahead, jobs, limitOfChecks, most), askChecks)
}

const limitOfChecks = "spec.checks.concurrent of FenceLedger " + api.LedgerName

// jobsAhead returns how many Jobs those fences wait for that were opened before f. A fence that has a turn
// is about to say so in its record, and one whose round never fits holds nobody.
func jobsAhead(f *api.NodeFence, fences []api.NodeFence, l *api.FenceLedger, now time.Time) (jobs int32) {
	for i := range fences {
		g := &fences[i]
		st := &g.Status
		waits := st.WaitsFor == api.WaitsForCheckTurn && g.Open() && g.CurrentPhase() == api.Pending && st.NextLook != nil && now.Sub(st.NextLook.Time) <= waitCounts
		if waits && ByAge(g, f) < 0 && !slices.ContainsFunc(l.Status.Checking, func(t api.CheckingFence) bool { return isTurnOf(&t, g) }) {
			if round := CheckJobs(&st.Decision.Settings); round <= l.Spec.CheckLimit() {
				jobs += round
			}
		}
	}
	return jobs
}

// rebuildChecking removes the turns whose time is over. Where the API server's clock was set back, the time of
// a turn begins anew.
func rebuildChecking(l *api.FenceLedger, c Picture, now time.Time) {
	var kept []api.CheckingFence
	for _, t := range l.Status.Checking {
		if observed.Ahead(t.At.Time, now) {
			t.Until = observed.StampOf(now.Add(t.Until.Sub(t.At.Time)))
			t.At = observed.StampOf(now)
		}
		if now.Sub(t.Until.Time) <= c.Apart {
			kept = append(kept, t)
		}
	}
	l.Status.Checking = kept
}

// beganNoRound tells whether a turn is one of f's for which f's record has no round. The record is a quorum read, and is
// saved by compare-and-swap: a gate that still holds this turn can't begin a round any more once f has another turn and
// a newer record. A record that has forgotten when its last round began leaves the turn counted.
func beganNoRound(t *api.CheckingFence, f *api.NodeFence, c Picture) bool {
	if !isTurnOf(t, f) {
		return false
	}
	before := func(r *api.CheckRound) bool {
		return r.Number == 0 || r.StartedAt != nil && r.StartedAt.Add(c.Apart).Before(t.At.Time)
	}
	a, s := f.Status.ActivityChecks, f.Status.StorageCheck
	return (a == nil || before(&a.CheckRound)) && (s == nil || before(s))
}

func isTurnOf(t *api.CheckingFence, f *api.NodeFence) bool {
	return t.NodeName == f.Spec.NodeName && t.FenceUID == f.UID && t.FenceNumber == f.Status.FenceNumber
}

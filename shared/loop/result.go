package loop

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Result is what an action has written and seen. An action fills in the fields that are about it.
type Result struct {
	// Record is the record as the action has written it; nil if the action has not written the record.
	// A Record without a resourceVersion makes the loop read the record again.
	Record *api.NodeFence
	// Verdict is the gate's no to Reserve, AskDrain or AskChecks, or to one of them in a dry run, or to a slot before Resolve; nil for a yes.
	Verdict *observed.Verdict
	// Resolved says that the devices were resolved, or that resolving them has failed for good.
	Resolved bool
	// Call is the call to a device that the action has made.
	Call *observed.CallResult
	// Checked is what the checks have said; nil if no check was asked.
	Checked *observed.Checked
	// Evicted is what came of asking pods to leave; nil if no pod was asked.
	Evicted *observed.Evicted
	// Reply ends the invocation with this event in place of that of the phase. The function that owns the phase takes
	// the event, and goes on.
	Reply *event.Event
}

// sightings are what the actions of one invocation have seen. A look can't see any of it again, so the
// invocation keeps it from one decision to the next.
type sightings struct {
	call     *observed.CallResult
	verdict  *observed.Verdict
	resolved bool
	checked  *observed.Checked
	evicted  *observed.Evicted
	// mayDrain and mayCheck say that the gate has answered yes; drainAsked and checksAsked are when it was
	// asked last.
	mayDrain, mayCheck bool
	// dryChecks is as mayCheck, for a dry run.
	dryChecks               bool
	drainAsked, checksAsked time.Time
	// cleared is the resourceVersion of the record for which the out-of-service taint was removed last.
	cleared string
}

// noteAsked notes when an action asks the gate: what the answer rests on is read after that time.
func (s *sightings) noteAsked(a fence.Action, now time.Time) {
	switch a {
	case fence.AskDrain:
		s.drainAsked = now
	case fence.AskChecks, fence.DryChecks:
		s.checksAsked = now
	}
}

// add keeps the result of an action, which has ended with err.
func (s *sightings) add(a fence.Action, r Result, err error) {
	yes := err == nil && r.Verdict == nil
	switch {
	case a.Device():
		s.call = r.Call
	case a == fence.Resolve && r.Resolved:
		s.resolved, s.verdict = true, nil // a no from before that was for the record as it was
	case a == fence.Resolve && r.Verdict != nil, a == fence.Reserve, a == fence.DryReserve, a == fence.DryDrain:
		s.verdict = r.Verdict
	case a == fence.AskDrain:
		s.verdict, s.mayDrain = r.Verdict, yes
	case a == fence.AskChecks:
		s.verdict, s.mayCheck = r.Verdict, yes
	case a == fence.DryChecks:
		s.verdict, s.dryChecks = r.Verdict, yes
	case a == fence.Check:
		s.mayCheck = false // the next round asks again
	}
	if r.Checked != nil {
		s.checked = r.Checked
	}
	if r.Evicted != nil {
		s.evicted = r.Evicted
	}
}

// handedOn returns the sightings of a look on which another invocation has decided. A yes of the gate is too old
// for this invocation, which has not asked.
func handedOn(seen observed.Look) sightings {
	return sightings{call: seen.Call, verdict: seen.Verdict, resolved: seen.Resolved, checked: seen.Checked, evicted: seen.Evicted}
}

// fillIn copies the sightings into a look. version is the resourceVersion of the record.
func (s *sightings) fillIn(seen *observed.Look, version string) {
	seen.Call, seen.Verdict, seen.Resolved, seen.Checked, seen.Evicted = s.call, s.verdict, s.resolved, s.checked, s.evicted
	seen.MayDrain, seen.MayCheck, seen.DryChecks, seen.DrainAsked = s.mayDrain, s.mayCheck, s.dryChecks, s.drainAsked
	seen.Cleared = s.cleared != "" && s.cleared == version
}

// dropOldAnswers removes a yes of the gate that is too old by the time of the decision: it must be asked for
// again (S17).
func (s *sightings) dropOldAnswers(seen *observed.Look, now time.Time) {
	seen.MayDrain = seen.MayDrain && observed.Fresh(s.drainAsked, now, facts.DecisionValidity)
	seen.DryChecks = seen.DryChecks && observed.Fresh(s.checksAsked, now, facts.ChecksBegin)
	seen.MayCheck = seen.MayCheck && observed.Fresh(s.checksAsked, now, facts.ChecksBegin)
}

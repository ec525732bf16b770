package far

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

// Seen is what was read of one object: first the object, then its FenceRequest, then the record of
// the node's fence.
type Seen struct {
	Object *Object
	// Node is that of the object; Misnamed is why no fence of it is asked for.
	Node     string
	Misnamed error
	// There: the Node exists. Tainted: it has the taint. Excluded: its label says that no remediator
	// touches it.
	There, Tainted, Excluded bool
	// Newer: the Node was created after the object, and may be another machine.
	Newer bool
	// Beside: another object about the node lives, for which the taint stays.
	Beside bool
	// Request is the FenceRequest that was made of the object; nil if there is none.
	Request *api.FenceRequest
	// Fence is the record of the node; nil if there is none.
	Fence *api.NodeFence
	// Refused is why no policy lets the object have its fence; nil if one does.
	Refused error
	// Live says by which Lease Fence Agents Remediation itself is seen to run; empty if it does not.
	Live string
	// DeviceCall is the longest that one call to a device may take; the usual if zero.
	DeviceCall time.Duration
	// Now is the API server's time.
	Now time.Time
}

// Step is what comes next. Its parts are carried out in this order. If the process dies after one
// of them, the next look finds what is left to do: none is decided by what was done before, but by
// what is there.
type Step struct {
	// Hold is to add the finalizer.
	Hold bool
	// TimeOut is to tell the FenceRequest that NodeHealthCheck gave it up, also one that has ended: its
	// failed fence may be tried again, and NodeHealthCheck is with another remediator. Withdraw is to
	// delete it.
	TimeOut, Withdraw bool
	// Statuses are to be written, one after the other.
	Statuses []Status
	// Events are to be told about the object.
	Events []Event
	// Mark is to place the taint on the node, Unmark to remove it.
	Mark, Unmark bool
	// Ask is to make the FenceRequest.
	Ask bool
	// LetGo is to remove the finalizer.
	LetGo bool
}

// Event is told about an object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// The reasons of Events, which NodeHealthCheck's users know.
const (
	remediationStarted     = "RemediationStarted"
	remediationStopped     = "RemediationStopped"
	remediationFinished    = "RemediationFinished"
	remediationCannotStart = "RemediationCannotStart"
)

// Decide says what comes next for an object.
func Decide(s Seen) Step {
	o := s.Object
	switch {
	case s.Live != "":
		return s.passive()
	case o.DeletionTimestamp != nil:
		return s.undo()
	case Ended(o):
		return Step{Mark: s.marks(), TimeOut: GivenUp(o) && s.ours() && ask.Withdrawn(s.Request) == ""}
	case GivenUp(o):
		step := s.end(interruptedByIt, "NodeHealthCheck gave it up (annotation "+api.TimedOutAnnotation+")")
		step.TimeOut = s.mayStop()
		return step
	}
	if why, words := s.cannot(); why != "" {
		step := s.end(why, words)
		step.Withdraw = s.mayStop()
		return step
	}
	return s.run()
}

// passive leaves the object to the program that it belongs to. A fence that was asked for while that
// program did not run is withdrawn: as long as nothing was cut for it, it ends.
func (s Seen) passive() Step {
	step := Step{Withdraw: s.mayStop()}
	if Asks(s.Object) {
		step.Events = []Event{{Reason: remediationCannotStart, Message: "nodefence leaves this object alone: Fence Agents Remediation runs, its " + s.Live + " moves"}}
	}
	return step
}

// undo removes what was placed for an object that is deleted: the node is healthy, or gone, or
// somebody has changed their mind. The finalizer comes off when its FenceRequest is gone, which is
// so in bounded time (S27), and whether or not the Node is there.
func (s Seen) undo() Step {
	if !Held(s.Object) {
		return Step{}
	}
	return Step{
		Withdraw: s.ours() && s.Request.DeletionTimestamp == nil,
		Unmark:   s.There && s.Tainted && !s.Beside,
		LetGo:    !s.ours(),
	}
}

// marks: the taint is missing from the node of an object that is held.
func (s Seen) marks() bool { return Held(s.Object) && s.There && !s.Tainted }

// ours: the FenceRequest was made of this object. Anybody who may create one can give it that name.
func (s Seen) ours() bool {
	return s.Request != nil && slices.ContainsFunc(s.Request.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == s.Object.UID })
}

// mayStop: its FenceRequest still asks.
func (s Seen) mayStop() bool {
	return s.ours() && ask.Withdrawn(s.Request) == "" && !ask.Ended(s.Request)
}

// cannot is why no fence answers the object, or its fence can't go on; empty if one may.
func (s Seen) cannot() (reason, string) {
	switch {
	case s.Misnamed != nil:
		return nodeNotFound, s.Misnamed.Error()
	case s.Request != nil && !s.ours():
		return agentFailed, "FenceRequest " + s.Request.Name + " is there, and is not of this object: delete it"
	case s.Request != nil:
		return "", "" // the gate's words and the fence's come by it
	case s.asked():
		return agentFailed, "the FenceRequest that was made of it, " + RequestName(s.Object, s.Node) + ", was deleted"
	case !s.There:
		return nodeNotFound, "there is no node " + s.Node
	case s.Newer:
		return nodeNotFound, "node " + s.Node + " was created after this object, and may be another machine: if that one is to be fenced, create a new object"
	case s.Excluded:
		return agentFailed, "node " + s.Node + " has label " + Exclude + "=true: nothing is done to it"
	}
	if _, err := Read(s.Object.Spec, s.Node); err != nil {
		return agentFailed, s.Object.Words() + ", " + err.Error()
	}
	if s.Refused != nil {
		return agentFailed, s.Refused.Error()
	}
	return "", ""
}

// asked: a fence of the node has answered to the FenceRequest that was made of the object. It is
// never made twice, so that one object leads to one fence.
func (s Seen) asked() bool {
	if s.Fence == nil {
		return false
	}
	source := sourceOf(s.Object, s.Node)
	for _, a := range s.Fence.Status.Decision.AskedBy {
		if a.Source == source {
			return true
		}
	}
	for i := range s.Fence.Status.Past {
		for _, a := range s.Fence.Status.Past[i].AskedBy {
			if a.Source == source {
				return true
			}
		}
	}
	return false
}

func sourceOf(o *Object, node string) string {
	r := api.FenceRequest{}
	r.Namespace, r.Name = o.Namespace, RequestName(o, node)
	return ask.Source(&r)
}

// end writes the last word.
func (s Seen) end(why reason, words string) Step {
	o := s.Object
	step := Step{Statuses: []Status{o.Status.with(why, words, o.Generation, s.Now)}}
	e := Event{Warning: true, Reason: remediationCannotStart, Message: words}
	if s.begun() {
		e.Reason = remediationStopped
	}
	step.Events = []Event{e}
	return step
}

// startedByUs begins the message of the conditions with which nodefence takes an object up.
const startedByUs = "nodefence was asked for the fence of node "

// Begun tells whether Fence Agents Remediation itself had begun the action of an object, and so may have switched
// the machine off: Processing is True, and not in nodefence's words. A condition keeps its words until its status
// changes, so this can be told for as long as the object asks for its fence.
func Begun(o *Object) bool {
	c := meta.FindStatusCondition(o.Status.Conditions, api.ConditionProcessing)
	return c != nil && c.Status == yes && !strings.HasPrefix(c.Message, startedByUs)
}

// begun: its first condition was written.
func (s Seen) begun() bool {
	return meta.FindStatusCondition(s.Object.Status.Conditions, api.ConditionProcessing) != nil
}

// run asks for the fence, and says in the object what becomes of it.
func (s Seen) run() Step {
	o := s.Object
	step := Step{Hold: !Held(o) || o.Annotations[KeptNode] == "", Mark: s.There && !s.Tainted, Ask: s.Request == nil}
	st := o.Status
	next := func(why reason, words string) {
		st = st.with(why, words, o.Generation, s.Now)
		step.Statuses = append(step.Statuses, st)
	}
	if !s.begun() {
		next(started, startedByUs+s.Node)
		step.Events = append(step.Events, Event{Reason: remediationStarted, Message: "nodefence fences node " + s.Node + s.bounds()})
	}
	if s.Request == nil {
		return step
	}
	is, proven := meta.FindStatusCondition(s.Request.Status.Conditions, api.ConditionSucceeded), meta.IsStatusConditionTrue(s.Request.Status.Conditions, api.ConditionFenceActionSucceeded)
	if proven && !meta.IsStatusConditionTrue(st.Conditions, ConditionAgentSucceeded) && (is == nil || is.Status != no) {
		next(agentSucceeded, "the machine was proven off by its device")
	}
	switch {
	case !ask.Ended(s.Request) || is == nil:
	case is.Status == yes && proven:
		next(finished, is.Message)
		step.Events = append(step.Events, Event{Reason: remediationFinished, Message: "node " + s.Node + " was fenced: " + is.Message})
	default:
		words := is.Message
		if !strings.Contains(words, is.Reason) {
			words = is.Reason + ": " + words
		}
		next(failureOf(is.Reason), words)
		step.Events = append(step.Events, Event{Warning: true, Reason: remediationStopped, Message: words})
	}
	return step
}

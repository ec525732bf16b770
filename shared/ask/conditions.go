package ask

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// said is what the three conditions come to.
type said struct {
	processing, action, succeeded metav1.ConditionStatus
	reason                        api.Reason
	message                       string
	// deletes: the fence has the node's Machine deleted.
	deletes bool
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

func underWay(action metav1.ConditionStatus, words string) said {
	return said{processing: yes, action: action, succeeded: unknown, reason: api.RemediationStarted, message: words}
}

// failed after a proof (action) or without one.
func failed(action metav1.ConditionStatus, why api.Reason, words string) said {
	return said{processing: no, action: action, succeeded: no, reason: why, message: words}
}

func succeeded(words string) said {
	return said{processing: no, action: yes, succeeded: yes, reason: api.RemediationFinishedSuccessfully, message: words}
}

// said is what a request comes to by its fence.
func (s Seen) said(a answer) said {
	is := s.saidOfFence(a)
	switch {
	case is.processing == no:
		return is
	case TimedOut(s.Request):
		action := no
		if is.action == yes {
			action = yes
		}
		return failed(action, api.RemediationInterruptedByNHC, Withdrawn(s.Request)+"; "+is.message)
	case s.Request.DeletionTimestamp != nil && !a.any():
		return failed(no, api.RequestWithdrawn, Withdrawn(s.Request)+" before its fence began")
	}
	return is
}

func (s Seen) saidOfFence(a answer) said {
	switch {
	case a.now != nil:
		is := saidNow(a.now, s.Fence.Open())
		is.deletes = deletesMachine(a.now)
		return is
	case a.past != nil:
		return saidOfPast(a.past, s.Request)
	case a.gone:
		return failed(no, api.Aborted, "the record of its fence is gone, and with it how it ended")
	}
	return underWay(unknown, "the gate was asked, and has not answered yet")
}

// saidNow is about the fence that the record has now.
func saidNow(st *api.NodeFenceStatus, open bool) said {
	words := message(st.Phase, st.Reason, st.Message)
	switch {
	case st.Release.TimedOut && (st.Phase == api.Fenced || !open):
		return failed(yes, api.ReleaseTimedOut, words)
	case st.Release.DoneAt != nil && !st.Release.TimedOut:
		return succeeded("the machine was proven off, and its work released")
	case st.Phase == api.Fenced:
		return restsWell(st, words)
	case st.Phase == api.Failed:
		return failed(no, st.Reason, words)
	case !open && st.Outcome == api.RequestFailed:
		return saidOfFailure(st, words)
	case !open:
		return saidAtEnd(st.Outcome, served(st), words)
	case st.Proof != nil || st.Release.StartedAt != nil:
		return underWay(yes, words)
	}
	return underWay(unknown, words)
}

// saidOfFailure says of a fence that failed and is over what was said while it stood at Failed. A healthy node
// leaves Failed within a second, so Failed may pass unread, and the end alone does not tell why the fence failed.
func saidOfFailure(st *api.NodeFenceStatus, words string) said {
	for _, entry := range slices.Backward(st.History) {
		if entry.Phase == api.Failed {
			return failed(no, entry.Reason, message(entry.Phase, entry.Reason, entry.Message))
		}
	}
	return failed(no, st.Outcome, words)
}

// restsWell: what the policy wants is done. Under action Isolate no machine was proven off.
func restsWell(st *api.NodeFenceStatus, words string) said {
	is := succeeded(words)
	if st.Proof == nil && !served(st) {
		is.action = no
	}
	return is
}

// saidOfPast is about an earlier fence, of which little is kept.
func saidOfPast(p *api.PastFence, r *api.FenceRequest) said {
	cut := p.Cuts > 0
	for _, a := range p.AskedBy {
		cut = cut || a.Served && a.ID == string(r.UID) && a.Source == Source(r)
	}
	return saidAtEnd(p.Outcome, cut, "fence ended: "+string(p.Outcome))
}

// saidAtEnd: only a fence that was carried out has succeeded.
func saidAtEnd(outcome api.Reason, carriedOut bool, words string) said {
	switch {
	case outcome == api.NodeGone || outcome == api.NodeReplaced:
		return failed(no, api.RemediationFinishedNodeNotFound, words)
	case carriedOut && (outcome == api.Recovered || outcome == api.NodeDeleted):
		return succeeded(words)
	case outcome == "":
		return failed(no, api.Aborted, words)
	}
	return failed(no, outcome, words)
}

// message is where a fence stands, in the words of its record.
func message(phase api.Phase, why api.Reason, words string) string {
	is := string(phase)
	if why != "" {
		is += ", " + string(why)
	}
	return strings.TrimSuffix(is+": "+words, ": ")
}

// write brings the conditions of the object's next status up to date.
func write(r *api.FenceRequest, st *api.FenceRequestStatus, is said, now time.Time) {
	generation := r.Generation
	st.ObservedGeneration = generation
	if is.succeeded == no {
		is.message += nameBlockedMachines(r)
	}
	for _, c := range []struct {
		typ    string
		status metav1.ConditionStatus
	}{
		{api.ConditionProcessing, is.processing}, {api.ConditionFenceActionSucceeded, is.action}, {api.ConditionSucceeded, is.succeeded},
	} {
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{
			Type: c.typ, Status: c.status, Reason: string(is.reason), Message: is.message, ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
		})
	}
	writeDeletion(st, generation, is, now)
}

// writeDeletion brings PermanentNodeDeletionExpected up to date, which says nothing until a Machine
// is deleted, and then stays: a deletion is not taken back. NodeHealthCheck keeps an object that says
// so, and whose Node is gone, until Succeeded is True. So one that has failed says it no longer, or it
// would be kept for ever.
func writeDeletion(st *api.FenceRequestStatus, generation int64, is said, now time.Time) {
	was := meta.FindStatusCondition(st.Conditions, api.ConditionNodeDeletionExpected)
	c := metav1.Condition{
		Type: api.ConditionNodeDeletionExpected, Status: yes, Reason: string(is.reason), ObservedGeneration: generation,
		Message:            "the Machine of the node is deleted, and its owner makes another node",
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	switch {
	case was == nil && (!is.deletes || is.succeeded == no):
		return
	case is.succeeded == no:
		c.Status, c.Message = no, "the fence has not succeeded: nothing waits for the end of the node"
	}
	meta.SetStatusCondition(&st.Conditions, c)
}

// Waits is the status of a request for which the gate can't be asked yet.
func Waits(r *api.FenceRequest, words string, now time.Time) api.FenceRequestStatus {
	st := r.Status.DeepCopy()
	write(r, st, underWay(unknown, words), now)
	return *st
}

// Refused is the status of a request that the gate refuses.
func Refused(r *api.FenceRequest, why api.Reason, words string, now time.Time) api.FenceRequestStatus {
	if why == api.NoSuchNode {
		why = api.RemediationFinishedNodeNotFound
	}
	st := r.Status.DeepCopy()
	write(r, st, failed(no, why, words), now)
	return *st
}

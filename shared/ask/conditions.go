package ask

import (
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
}

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

func underWay(action metav1.ConditionStatus, words string) said {
	return said{yes, action, unknown, api.RemediationStarted, words}
}

func failed(why api.Reason, words string) said { return said{no, no, no, why, words} }

func succeeded(words string) said {
	return said{no, yes, yes, api.RemediationFinishedSuccessfully, words}
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
		return said{no, action, no, api.RemediationInterruptedByNHC, Withdrawn(s.Request) + "; " + is.message}
	case s.Request.DeletionTimestamp != nil && !a.any():
		return failed(api.RequestWithdrawn, Withdrawn(s.Request)+" before its fence began")
	}
	return is
}

func (s Seen) saidOfFence(a answer) said {
	switch {
	case a.now != nil:
		return saidNow(a.now, s.Fence.Open())
	case a.past != nil:
		return saidOfPast(a.past, s.Request)
	case a.gone:
		return failed(api.Aborted, "the record of its fence is gone, and with it how it ended")
	}
	return underWay(unknown, "the gate was asked, and has not answered yet")
}

// saidNow is about the fence that the record has now.
func saidNow(st *api.NodeFenceStatus, open bool) said {
	words := message(st)
	switch {
	case st.Release.TimedOut && (st.Phase == api.Fenced || !open):
		return said{no, yes, no, api.ReleaseTimedOut, words}
	case st.Release.DoneAt != nil && !st.Release.TimedOut:
		return succeeded("the machine was proven off, and its work released")
	case st.Phase == api.Fenced:
		return restsWell(st, words)
	case st.Phase == api.Failed:
		return failed(st.Reason, words)
	case !open:
		return saidAtEnd(st.Outcome, served(st), words)
	case st.Proof != nil || st.Release.StartedAt != nil:
		return underWay(yes, words)
	}
	return underWay(unknown, words)
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
		return failed(api.RemediationFinishedNodeNotFound, words)
	case carriedOut && (outcome == api.Recovered || outcome == api.NodeDeleted):
		return succeeded(words)
	case outcome == "":
		return failed(api.Aborted, words)
	}
	return failed(outcome, words)
}

// message is where the fence stands, in the words of its record.
func message(st *api.NodeFenceStatus) string {
	words := string(st.Phase)
	if st.Reason != "" {
		words += ", " + string(st.Reason)
	}
	return strings.TrimSuffix(words+": "+st.Message, ": ")
}

// write brings the conditions of a status up to date.
func write(st *api.FenceRequestStatus, generation int64, is said, now time.Time) {
	st.ObservedGeneration = generation
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
}

// Refused is the status of a request that the gate refuses.
func Refused(r *api.FenceRequest, why api.Reason, words string, now time.Time) api.FenceRequestStatus {
	if why == api.NoSuchNode {
		why = api.RemediationFinishedNodeNotFound
	}
	st := r.Status.DeepCopy()
	write(st, r.Generation, failed(why, words), now)
	return *st
}

package far

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// ConditionAgentSucceeded is True once the machine was proven off. The other two are Processing and
// Succeeded.
const ConditionAgentSucceeded = "FenceAgentActionSucceeded"

// reason is why conditions change, in that project's words.
type reason string

const (
	started         reason = "RemediationStarted"
	agentSucceeded  reason = "FenceAgentSucceeded"
	agentFailed     reason = "FenceAgentFailed"
	agentTimedOut   reason = "FenceAgentTimedOut"
	finished        reason = "RemediationFinishedSuccessfully"
	nodeNotFound    reason = "RemediationFinishedNodeNotFound"
	interruptedByIt reason = "RemediationInterruptedByNHC"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// of are the conditions that a reason gives: Processing, FenceAgentActionSucceeded and Succeeded. An
// empty one stays as it is.
func (r reason) of() [3]metav1.ConditionStatus {
	switch r {
	case started:
		return [3]metav1.ConditionStatus{yes, unknown, unknown}
	case agentSucceeded:
		return [3]metav1.ConditionStatus{"", yes, ""}
	case finished:
		return [3]metav1.ConditionStatus{no, "", yes}
	}
	return [3]metav1.ConditionStatus{no, no, no}
}

// longestMessage is the API's limit of a condition's message.
const longestMessage = 32768

// with is a status after a change. A condition keeps its reason, message and time unless its status
// changes.
func (s Status) with(r reason, words string, generation int64, now time.Time) Status {
	out := Status{LastUpdateTime: s.LastUpdateTime}
	for i := range s.Conditions {
		out.Conditions = append(out.Conditions, *s.Conditions[i].DeepCopy())
	}
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	is := r.of()
	for i, typ := range []string{api.ConditionProcessing, ConditionAgentSucceeded, api.ConditionSucceeded} {
		if is[i] == "" || meta.IsStatusConditionPresentAndEqual(out.Conditions, typ, is[i]) {
			continue
		}
		out.LastUpdateTime = &at
		meta.SetStatusCondition(&out.Conditions, metav1.Condition{
			Type: typ, Status: is[i], Reason: string(r), Message: clip.To(longestMessage, words), ObservedGeneration: generation, LastTransitionTime: at,
		})
	}
	return out
}

// timedOut are the reasons of a fence that mean that something took too long. A device that does not
// answer is DeviceFailed, as an agent that can't reach its device fails.
var timedOut = map[string]bool{string(api.PowerOffNotSeen): true, string(api.ReleaseTimedOut): true}

// failureOf is the reason for a FenceRequest that has failed.
func failureOf(why string) reason {
	switch {
	case why == string(api.RemediationFinishedNodeNotFound):
		return nodeNotFound
	case why == string(api.RemediationInterruptedByNHC):
		return interruptedByIt
	case timedOut[why]:
		return agentTimedOut
	}
	return agentFailed
}

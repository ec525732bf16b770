package ask

import (
	"k8s.io/apimachinery/pkg/api/meta"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// News is what a change of a FenceRequest's conditions is to people: one Kubernetes Event, in the
// words of medik8s' remediators.
type News struct {
	// Reason is one of the reasons below.
	Reason  string
	Message string
	// Warning: a person should look.
	Warning bool
}

// The reasons. The first one is also that of the conditions.
const (
	Started     = string(api.RemediationStarted)
	Stopped     = "RemediationStopped"
	Finished    = "RemediationFinished"
	CannotStart = "RemediationCannotStart"
)

// NewsOf is what a change of the conditions has to say; nil if it has nothing. Whoever writes a
// status by compare-and-swap tells it once, because nobody else has written that change.
func NewsOf(before, after *api.FenceRequestStatus) *News {
	was, is := meta.FindStatusCondition(before.Conditions, api.ConditionProcessing), meta.FindStatusCondition(after.Conditions, api.ConditionProcessing)
	if is == nil || was != nil && was.Status == is.Status {
		return nil
	}
	if is.Status == yes {
		return &News{Reason: Started, Message: is.Message}
	}
	if meta.IsStatusConditionTrue(after.Conditions, api.ConditionSucceeded) {
		return &News{Reason: Finished, Message: is.Message}
	}
	n := &News{Reason: Stopped, Message: is.Reason + ": " + is.Message}
	switch {
	case is.Reason == string(api.RequestWithdrawn) || is.Reason == string(api.RemediationInterruptedByNHC):
		return n // somebody wanted that
	case after.NodeFence.FenceNumber == 0:
		n.Reason = CannotStart
	}
	n.Warning = true
	return n
}

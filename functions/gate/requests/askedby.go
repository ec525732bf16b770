package requests

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A record takes no longer ID, source or type of an event.
const (
	longestName = 1024
	unnamed     = "attribute id, source or type: longer than 1024 bytes"
)

// askedBy returns an event as a record names it; nil if the names of the event are too long.
func askedBy(e event.Event, now time.Time) *api.AskedBy {
	if max(len(e.ID()), len(e.Source()), len(e.Type())) > longestName {
		return nil
	}
	return &api.AskedBy{ID: e.ID(), Source: e.Source(), Type: e.Type(), JoinedAt: metav1.NewMicroTime(now.UTC())}
}

// lastEnd returns when the last fence of a node ended; nil if none has.
func lastEnd(f *api.NodeFence) *api.Time {
	if f == nil {
		return nil
	}
	return f.LastEnd()
}

// forRequest returns the decision with which a fence opens because of a request.
func forRequest(why api.TriggerType, n *corev1.Node, r *api.AskedBy, resolved api.ResolvedPolicy) *api.Decision {
	return &api.Decision{NodeUID: n.UID, Trigger: api.Trigger{Type: why, Since: r.JoinedAt}, AskedBy: []api.AskedBy{*r}, ResolvedPolicy: resolved}
}

// tooOld says why the time of a request is refused: a request that was held up on its way is not carried out
// late (S18). If the sender's clock is off, the request is refused, which is the safe side.
func tooOld(e event.Event, now time.Time) string {
	if e.Time().IsZero() {
		return "attribute time: missing, a request must say when it was made"
	}
	if age := now.Sub(e.Time()); age > api.RequestValidity || age < -api.RequestValidity {
		return "made at " + e.Time().UTC().Format(time.RFC3339) + ", which is not within " + api.RequestValidity.String() + " of now"
	}
	return ""
}

// A record takes no longer reason of a sender, and no longer other words.
const longestReason, longestWords = 256, 1000

// attributeText returns an attribute of an event; empty if it has none.
func attributeText(e event.Event, attribute string) string {
	s, err := cetypes.Format(e.Extensions()[attribute])
	if err != nil {
		return ""
	}
	return s
}

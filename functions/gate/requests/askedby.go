package requests

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A record names an event by ID, source and type, none of them longer than that.
const (
	longestName = 1024
	unnamed     = "attribute id, source or type: longer than 1024 bytes"
)

// askedBy is an event that asks for a fence; nil if no record could name it.
func askedBy(e event.Event, now time.Time) *api.AskedBy {
	if max(len(e.ID()), len(e.Source()), len(e.Type())) > longestName {
		return nil
	}
	return &api.AskedBy{ID: e.ID(), Source: e.Source(), Type: e.Type(), JoinedAt: metav1.NewMicroTime(now.UTC())}
}

// lastEnd is when the last fence of a node ended; nil if none has.
func lastEnd(f *api.NodeFence) *api.Time {
	if f == nil {
		return nil
	}
	return f.LastEnd()
}

// forRequest is the decision with which a fence opens because of a request.
func forRequest(why api.TriggerType, n *corev1.Node, r *api.AskedBy, resolved api.ResolvedPolicy) *api.Decision {
	return &api.Decision{NodeUID: n.UID, Trigger: api.Trigger{Type: why, Since: r.JoinedAt}, AskedBy: []api.AskedBy{*r}, ResolvedPolicy: resolved}
}

// tooOld: a request that was held up somewhere is not carried out late (S18). The
// sender's clock may be off: then it is refused, which is the safe side.
func tooOld(e event.Event, now time.Time) string {
	if e.Time().IsZero() {
		return "attribute time: missing, a request must say when it was made"
	}
	if age := now.Sub(e.Time()); age > api.RequestValidity || age < -api.RequestValidity {
		return "made at " + e.Time().UTC().Format(time.RFC3339) + ", which is not within " + api.RequestValidity.String() + " of now"
	}
	return ""
}

// What a record takes of a sender's reason, and of other words.
const longestReason, longestWords = 256, 1000

// attributeText returns an attribute of an event; empty if it has none.
func attributeText(e event.Event, attribute string) string {
	s, err := cetypes.Format(e.Extensions()[attribute])
	if err != nil {
		return ""
	}
	return s
}

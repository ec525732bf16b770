package events

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Reported says that the FenceReport of a fence is written. The data are the report's spec, so that an archive needs no
// access to the API server. The ID is the report's name: sending it again is the same event.
func (s Source) Reported(r *api.FenceReport, now time.Time) event.Event {
	e := s.event(r.Name, FenceReported, r.Spec.NodeName, now, r.Spec)
	e.SetExtension(CorrelationID, string(r.Spec.FenceUID))
	e.SetExtension(FenceNumberAttr, r.Spec.FenceNumber)
	e.SetExtension(ReasonAttr, string(r.Spec.Outcome))
	return e
}

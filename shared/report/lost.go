package report

import (
	"context"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// What follows from a dead letter. What asks for a fence is in no record yet, so that no resync
// finds it.
const (
	fenceGoesOn  = "; the fence is looked at again at the next resync"
	askedForOnce = "; nothing repeats a request for a fence: send a new one, or create a FenceRequest"
)

// Lost reports one dead letter: log, metric, and an Event on its NodeFence.
func (p *Publisher) Lost(ctx context.Context, l Loss) {
	fence := ""
	if l.Fence != nil {
		fence = string(l.Fence.UID)
	}
	what, label, so := "dead letter", known(l.Event.Type()), " was given up by the broker: "
	switch {
	case l.Unknown:
		what, label, so = "unknown type", unknown, " went to nobody: "
	case events.AsksOnce(l.Event):
		l.Message += askedForOnce
	default:
		l.Message += fenceGoesOn
	}
	p.Log.Error(what, "function", l.Function, "node", l.Node, "fence", fence, "event", l.Event.ID(), "source", l.Event.Source(), "type", l.Event.Type(),
		"to", l.Dest, "reason", string(api.EventLost), "message", l.Message)
	p.metrics.lost.WithLabelValues(label).Inc()
	if l.Fence == nil {
		return
	}
	p.post(ctx, kube.Event{
		Kind: "NodeFence", APIVersion: api.GroupVersion.String(), Name: l.Fence.Name, UID: l.Fence.UID, Warning: true,
		Reason: string(api.EventLost), Reporter: l.Function,
		Message: "event " + l.Event.ID() + " of " + l.Event.Source() + so + l.Message,
	})
}

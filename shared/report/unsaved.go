package report

import (
	"context"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/kube"
)

// UnsavedEvery is how often an Event says that a node's record can't be written: each function
// writes one in so long a time, however often it tries.
const UnsavedEvery = 5 * time.Minute

// Unsaved reports that a record can't be written: log, metric, and an Event on the Node, which
// kubectl fence why reads (S28).
func (p *Publisher) Unsaved(ctx context.Context, u Unsaved) {
	p.Log.Warn("record not saved", "function", u.Function, "node", u.Node, "event", u.Cause.ID(), "error", u.Err.Error())
	p.metrics.unsaved.WithLabelValues(u.Function).Inc()
	p.post(ctx, kube.Event{
		Kind: "Node", APIVersion: "v1", Name: u.Node, UID: u.NodeUID, Warning: true, Reason: string(api.RecordNotSaved), Every: UnsavedEvery,
		Message: clip.To(longestWords, "the record of this node's fence can't be written, so the fence does not go on: "+u.Err.Error()), Reporter: u.Function,
	})
}

package open

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/functions/gate/requests"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
)

// function is the name of the gate in logs and metrics.
const function = "gate"

// Opener opens the fences of nodes that are unhealthy now, that are missing, or that somebody asks to have fenced.
type Opener struct {
	Client *kube.Client
	// Bind resolves which device switches a node; nil if nothing does.
	Bind func(ctx context.Context, node *corev1.Node) (*config.Bound, error)
	// Namespace is nodefence's own, where machines are enrolled.
	Namespace string
	// DeviceCall is the longest that one call to a device may take.
	DeviceCall time.Duration
	Log        *slog.Logger
	Reporter   report.Reporter
	// Judge answers events that ask for a fence.
	Judge *requests.Judge
}

// Next says who works on the fence of a node once an event was looked at.
type Next int

const (
	// Stop: nobody in this process. No fence opens, or somebody else is at work on the record.
	Stop Next = iota
	// ReadRecord: the loop reads the node's record, and works on it if it is open.
	ReadRecord
	// GoOn: the loop works on a record that is open, and was read for this event.
	GoOn
	// Begin: the loop saves a record whose status opens it.
	Begin
)

// Result is what comes of an event.
type Result struct {
	Next Next
	// Reply, with Stop, is an event that has another function act; nil if none is needed.
	Reply *event.Event
	// Fence is the record to go on with, or the record whose status opens it.
	Fence *api.NodeFence
	// Before, with Begin, is the status that the API server has.
	Before api.NodeFenceStatus
	// Asked says that an event asked for the fence. Nobody sends that event again.
	Asked bool
	// Resolved says that the policies and the devices in Fence were just read.
	Resolved bool
}

// prepareRecord prepares the record of a fence that is about to open. The record gets our finalizer, loses what
// people asked of an earlier fence, and notes what people aborted. The loop saves the status that opens the
// fence, together with what its first look sees. If the process dies before that, the record is no fence, and
// the next event of the node opens it.
func (o *Opener) prepareRecord(ctx context.Context, last *api.NodeFence, node string, dec api.Decision) (r Result, err error) {
	dec.DeviceCallTimeout.Duration = o.DeviceCall
	f := last
	switch {
	case f == nil:
		f, err = o.Client.CreateFence(ctx, &api.NodeFence{
			ObjectMeta: metav1.ObjectMeta{Name: node, Finalizers: []string{api.Finalizer}},
			Spec:       api.NodeFenceSpec{NodeName: node},
		})
	case !slices.Contains(f.Finalizers, api.Finalizer) || f.Spec.Requests != (api.Requests{}) || f.WithAborted() != f.Annotations[api.AbortedAnnotation]:
		f, err = o.Client.ClearRequests(ctx, f)
	}
	if err != nil {
		if !errors.Is(err, kube.ErrConflict) {
			o.Reporter.Unsaved(ctx, report.Unsaved{Function: function, Node: node, NodeUID: dec.NodeUID, Err: err})
		}
		return r, err
	}
	r = Result{Next: Begin, Fence: f, Before: f.Status, Asked: dec.Asker() != nil}
	f.Status = fence.Opening(f, dec, o.Client.Clock().Now())
	return r, nil
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/admit"
	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/functions/gate/open"
	"github.com/nodefence/nodefence/functions/gate/requests"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/remediation"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function, and what it owns.
const Name = "gate"

// Phases that the gate owns.
var Phases = []api.Phase{api.Pending}

// Gate is the function.
type Gate struct {
	Client *kube.Client
	// Bind resolves which device switches a node.
	Bind func(ctx context.Context, node *corev1.Node) (*config.Bound, error)
	// Self is the node that this runs on (S13); empty if unknown.
	Self string
	// Namespace is nodefence's own, where machines are enrolled.
	Namespace string
	// Checks is the namespace of the checks' Jobs.
	Checks string
	// Networks bound what activity checks connect to.
	Networks checks.Networks
	// RequestNamespaces are those whose FenceRequests count.
	RequestNamespaces ask.Namespaces
	// KubeletPort is where kubelets listen; what each Node reports if zero.
	KubeletPort int32
	// NeighborsImage is what checks of type Neighbors run, nodefence's own; they go wrong
	// without one.
	NeighborsImage string
	// DeviceCall is the longest that one call to a device may take.
	DeviceCall time.Duration
	Log        *slog.Logger
	// Reporter hears of every event that asks for a fence and opens none.
	Reporter report.Reporter
	Loop     *loop.Loop
	// Remediation keeps other programs that remediate nodes away; nil if there are none.
	Remediation *remediation.Leases
	// Queue has the fences of this process decided on together; each by itself if it is nil.
	Queue *admit.Queue

	noise open.NoiseFilter
}

// Handle takes one event.
func (g *Gate) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	began := g.Loop.Elapsed()
	if events.IsHint(e.Type()) && !events.AboutNode(e) {
		g.Log.Info("ignored", "function", Name, "event", e.ID(), "type", e.Type(), "reason", "NotANode")
		return nil, nil
	}
	node, err := run.Node(e)
	if err != nil {
		return nil, g.judge().Unread(ctx, e, err)
	}
	noise, err := g.noise.IsNoise(ctx, g.Client, e)
	if err != nil {
		return nil, err
	}
	if noise {
		g.Log.Info("ignored", "function", Name, "node", e.Subject(), "event", e.ID(), "reason", "NotInPolicies")
		return nil, nil
	}
	r, err := g.opener().Open(ctx, node, e)
	if err != nil {
		return nil, err
	}
	return g.runLoop(ctx, node, e, r, began)
}

// runLoop has the loop work on the node's fence. began is when the event was taken.
func (g *Gate) runLoop(ctx context.Context, node string, e event.Event, r open.Result, began time.Duration) (*event.Event, error) {
	switch r.Next {
	case open.Stop:
		return r.Reply, nil
	case open.ReadRecord:
		return g.Loop.Run(ctx, node, e, began)
	case open.GoOn:
		return g.Loop.GoOn(ctx, r.Fence, e, began)
	}
	reply, err := g.Loop.Open(ctx, r.Fence, r.Before, r.Resolved, e, began)
	if errors.Is(err, kube.ErrConflict) && !r.Asked {
		return nil, nil // another gate has just opened it
	}
	if errors.Is(err, kube.ErrConflict) {
		return nil, fmt.Errorf("%w: %w", run.ErrAgain, err) // the request must not be lost to that race
	}
	return reply, err
}

// opener opens fences.
func (g *Gate) opener() *open.Opener {
	return &open.Opener{Client: g.Client, Bind: g.Bind, Namespace: g.Namespace, DeviceCall: g.DeviceCall, Log: g.Log, Reporter: g.Reporter, Judge: g.judge()}
}

// judge decides on events that ask for a fence.
func (g *Gate) judge() *requests.Judge {
	return &requests.Judge{Client: g.Client, Namespaces: g.RequestNamespaces, Log: g.Log, Reporter: g.Reporter, Loop: g.Loop}
}

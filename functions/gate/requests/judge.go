package requests

import (
	"context"
	"log/slog"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// function is the name of the gate in logs, metrics and Kubernetes Events.
const function = "gate"

// Judge decides whether a fence opens for an event that asks for one, or whether the open fence answers the
// event too.
type Judge struct {
	Client *kube.Client
	// Namespaces are those whose FenceRequests count.
	Namespaces ask.Namespaces
	Log        *slog.Logger
	// Reporter hears of every event that asks for a fence and opens none.
	Reporter report.Reporter
	Loop     *loop.Loop
}

// Answer is what comes of an event. At its zero value no fence opens: the event is refused, or joined to the
// open fence, or told.
type Answer struct {
	// Opens is the decision with which a fence is to open; nil if none is.
	Opens *api.Decision
	// Object is the FenceRequest that asks for the fence; nil if none does.
	Object *api.FenceRequest
	// Reply is an event that has another function act; nil if none is needed.
	Reply *event.Event
}

// no is the reason why an event that asks for a fence gets none.
type no struct {
	why     api.Reason
	message string
}

// joinFence adds a request to the open fence of a node (S7).
func (j *Judge) joinFence(ctx context.Context, e event.Event, n *corev1.Node, f *api.NodeFence, r *api.AskedBy) error {
	words := fence.Join(f, *r)
	made, err := j.Client.SaveFenceStatus(ctx, f)
	j.Loop.Keep(made)
	if err == nil {
		j.Reporter.Merged(ctx, report.Refusal{Function: function, Cause: e, Node: n.Name, NodeUID: n.UID, Reason: api.RequestMerged, Message: words})
	}
	return err
}

// isSelected tells whether a FencePolicy selects a node.
func isSelected(policies []api.FencePolicy, n *corev1.Node) bool {
	_, ok := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return ok
}

// unselectedWords says that no policy selects a node, and what to do.
func unselectedWords(node string) string {
	return "no FencePolicy selects node " + node + ": apply one whose spec.selector does"
}

// refuse reports in log, metric and an Event on the Node why an event is refused.
func (j *Judge) refuse(ctx context.Context, e event.Event, node string, n *corev1.Node, why *no) {
	r := report.Refusal{Function: function, Cause: e, Node: node, Reason: why.why, Message: why.message}
	if n != nil {
		r.NodeUID = n.UID
	}
	j.Reporter.Refused(ctx, r)
}

// logIgnored logs why nothing comes of an event.
func (j *Judge) logIgnored(e event.Event, node, why string) {
	j.Log.Info("ignored", "function", function, "node", node, "event", e.ID(), "type", e.Type(), "reason", why)
}

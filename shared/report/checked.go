package report

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// Checked reports one check: a log line, and an Event on the Node if the node can't be
// fenced any more, can't be fenced for another reason than before, or can be fenced again.
func (p *Publisher) Checked(ctx context.Context, c Check) {
	was, is := fenceable(c.Before), fenceable(c.Target)
	log, bad := p.Log.Info, is.Status == metav1.ConditionFalse
	if bad {
		log = p.Log.Warn
	}
	log("checked", "function", c.Function, "node", c.Target.Name, "event", c.Cause.ID(), "device", deviceOf(c.Target),
		"fenceable", string(is.Status), "reason", is.Reason, "message", is.Message)
	if !bad && was.Status != metav1.ConditionFalse || bad && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	message := "this node could not be fenced now: " + is.Message
	if !bad {
		message = "this node can be fenced again: " + is.Message
	}
	if is.Status == metav1.ConditionUnknown {
		return
	}
	p.post(ctx, kube.Event{
		Kind: "Node", APIVersion: "v1", Name: c.Target.Name, UID: c.Target.Status.NodeUID, Warning: bad, Reason: is.Reason,
		Message: message, Reporter: c.Function,
	})
}

func fenceable(t *api.FenceTarget) metav1.Condition {
	if c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// deviceOf describes the first of the devices.
func deviceOf(t *api.FenceTarget) string {
	if len(t.Status.Devices) == 0 {
		return ""
	}
	d := t.Status.Devices[0]
	return d.Driver + " " + d.Address
}

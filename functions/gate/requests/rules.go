package requests

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/report"
)

// rulesOf returns the rules for a node. strange names a policy that may select the node and is not understood.
func (j *Judge) rulesOf(ctx context.Context, n *corev1.Node) (rules []nodeproblem.Rule, strange string, err error) {
	if n == nil {
		return nil, "", nil
	}
	all, err := j.Client.NodeProblemPolicies(ctx)
	if err != nil {
		return nil, "", err
	}
	return nodeproblem.For(all, n.Labels), nodeproblem.NotUnderstood(all, n.Labels), nil
}

// findBelievedRule returns the rule that believes an event without a token, with action Fence.
func (j *Judge) findBelievedRule(ctx context.Context, e event.Event, n *corev1.Node, rules []nodeproblem.Rule, f *api.NodeFence) (rule string, refused *no, err error) {
	refused = &no{api.SourceNotBelieved, fmt.Sprintf("no token, and no NodeProblemPolicy that selects this node has a rule with action Fence that believes source %q for type %s: send a token, or write one, with brokerIsClosed: true", e.Source(), e.Type())}
	for _, want := range nodeproblem.Believing(rules, api.ProblemFence, e.Source(), e.Type()) {
		if refused, err = j.countReports(ctx, e, n, f, want); refused == nil {
			return want.String(), nil, err
		}
	}
	return "", refused, nil
}

// alert reports an event without a token, for each rule with action Alert. done says that no rule with action
// Fence believes the event.
func (j *Judge) alert(ctx context.Context, e event.Event, n *corev1.Node, rules []nodeproblem.Rule, f *api.NodeFence) (done bool, err error) {
	alerts := nodeproblem.Believing(rules, api.ProblemAlert, e.Source(), e.Type())
	body, err := events.ReadRequest(e)
	if err != nil || len(alerts) == 0 || body.Token != "" || tooOld(e, j.Client.Clock().Now()) != "" {
		return false, nil // examine says what is wrong with it
	}
	for _, want := range alerts {
		few, err := j.countReports(ctx, e, n, f, want)
		switch {
		case err != nil:
			return false, err
		case few != nil:
			j.logIgnored(e, n.Name, few.message)
		default:
			words := fmt.Sprintf("reported by event %s of %s; %s takes %d within %s", e.ID(), e.Source(), want, want.Count, want.Within)
			j.Reporter.Alerted(ctx, report.Refusal{Function: function, Cause: e, Node: n.Name, NodeUID: n.UID, Reason: api.NodeProblem, Message: words}, want.Name)
		}
	}
	return len(nodeproblem.Believing(rules, api.ProblemFence, e.Source(), e.Type())) == 0, nil
}

package requests

import (
	"context"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/policy"
)

// Request answers an event that asks for a fence, on the authority of its token or of a rule (S18, S20). A
// fence opens, or the open fence answers too (S7). A refusal is reported in log, metric and an Event on the
// Node.
func (j *Judge) Request(ctx context.Context, node string, e event.Event, f *api.NodeFence) (a Answer, err error) {
	n, err := j.Client.Node(ctx, node)
	if err != nil {
		return a, err
	}
	if named := objectNamed(e); named != nil {
		return j.requestByObject(ctx, e, node, n, *named, f)
	}
	policies, err := j.Client.Policies(ctx) // a refusal is for good
	if err != nil {
		return a, err
	}
	rules, strange, err := j.rulesOf(ctx, n)
	if err != nil {
		return a, err
	}
	if done, err := j.alert(ctx, e, n, rules, f); done || err != nil {
		return a, err
	}
	r, refused, err := j.examine(ctx, e, n, policies, rules, f)
	if err != nil {
		return a, err
	}
	if refused != nil {
		if refused.why == api.SourceNotBelieved && strange != "" {
			refused.message += "; " + strange
		}
		j.refuse(ctx, e, node, n, refused)
		return a, nil
	}
	if f != nil && f.Open() {
		return a, j.joinFence(ctx, e, n, f, r)
	}
	resolved, _ := policy.ResolvePolicy(policies, n.Name, n.Labels)
	a.Opens = forRequest(api.TriggerRequest, n, r, resolved)
	return a, nil
}

// WhileDeleted reports that no fence opens or is joined while the NodeFence of the node is being deleted (S28).
// For a FenceRequest the function request asks again once the NodeFence is gone.
func (j *Judge) WhileDeleted(ctx context.Context, node string, e event.Event, f *api.NodeFence) error {
	if !events.Asks(e.Type()) || f.DeletionTimestamp == nil || fence.Foreign(f.Status) {
		return nil
	}
	why := "the NodeFence of this node is being deleted"
	if objectNamed(e) != nil {
		j.logIgnored(e, node, string(api.NotYet)+": "+why+", and the function request asks again then")
		return nil
	}
	n, err := j.Client.Node(ctx, node)
	if err != nil {
		return err
	}
	if n != nil && f.Open() && fence.Ends(f, n.UID) != "" {
		why = fence.Ends(f, n.UID)
	}
	j.refuse(ctx, e, node, n, &no{api.RequestMerged, why + ": if the node is to be fenced, send a new one after that"})
	return nil
}

// examine applies what a request must pass: first its own words and the fences of the node, then the authority
// on which it asks.
func (j *Judge) examine(ctx context.Context, e event.Event, n *corev1.Node, policies []api.FencePolicy, rules []nodeproblem.Rule, f *api.NodeFence) (*api.AskedBy, *no, error) {
	body, err := events.ReadRequest(e)
	if err != nil {
		return nil, &no{api.TokenRefused, err.Error()}, nil
	}
	now := j.Client.Clock().Now()
	r := askedBy(e, now)
	if refused := refuseUnserved(e, r, body.Token, n, policies, f, lastEnd(f), false, now); refused != nil {
		return nil, refused, nil
	}
	words := body.Reason
	if body.Token == "" {
		rule, refused, err := j.findBelievedRule(ctx, e, n, rules, f)
		if refused != nil || err != nil {
			return nil, refused, err
		}
		words = strings.TrimSuffix(rule+": "+words, ": ")
	} else if refused, err := j.reviewToken(ctx, e, body.Token, n, f, r); refused != nil || err != nil {
		return nil, refused, err
	}
	r.Reason, r.Drain = clip.To(longestReason, words), api.DrainWish(body.Drain)
	return r, nil, nil
}

// Unread refuses a request whose subject names a node and whose data is wrong, where the sender looks. It
// returns malformed for any other event.
func (j *Judge) Unread(ctx context.Context, e event.Event, malformed error) error {
	node := e.Subject()
	if !events.Asks(e.Type()) || len(validation.IsDNS1123Subdomain(node)) > 0 {
		return malformed
	}
	n, err := j.Client.Node(ctx, node)
	if err != nil {
		return err
	}
	_, wrong := events.Node(e)
	j.refuse(ctx, e, node, n, &no{api.TokenRefused, clip.To(longestWords, wrong.Error())})
	return nil
}

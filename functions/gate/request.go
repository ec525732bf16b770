package gate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// no is why an event that asks for a fence gets none.
type no struct {
	why     api.Reason
	message string
}

// request opens a fence because an event asks for it, on the authority of its
// token or of a rule (S18, S20), or joins it to the one that is open (S7). A refusal
// is said in log, metric and an Event on the Node; the event itself is done with.
func (g *Gate) request(ctx context.Context, node string, e event.Event, f *api.NodeFence) (*opened, error) {
	n, err := g.Client.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	if named := objectNamed(e); named != nil {
		return g.requestByObject(ctx, e, node, n, *named, f)
	}
	policies, err := g.Client.Policies(ctx) // a refusal is for good
	if err != nil {
		return nil, err
	}
	rules, strange, err := g.rulesOf(ctx, n)
	if err != nil {
		return nil, err
	}
	if done, err := g.tell(ctx, e, n, rules, f); done || err != nil {
		return nil, err
	}
	r, refused, err := g.judge(ctx, e, n, policies, rules, f)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		if refused.why == api.SourceNotBelieved && strange != "" {
			refused.message += "; " + strange
		}
		g.refuse(ctx, e, node, n, refused)
		return nil, nil
	}
	if f != nil && f.Open() {
		return nil, g.join(ctx, e, n, f, r)
	}
	resolved, _ := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return g.prepareRecord(ctx, f, node, forRequest(api.TriggerRequest, n, r, resolved))
}

// rulesOf are the rules for a node, and which policy that may be about it is not understood.
func (g *Gate) rulesOf(ctx context.Context, n *corev1.Node) (rules []nodeproblem.Rule, strange string, err error) {
	if n == nil {
		return nil, "", nil
	}
	all, err := g.Client.NodeProblemPolicies(ctx)
	if err != nil {
		return nil, "", err
	}
	return nodeproblem.For(all, n.Labels), nodeproblem.NotUnderstood(all, n.Labels), nil
}

// whileDeleted tells whoever asks while the node's NodeFence is being deleted that no fence opens, and none is
// joined, before that is gone (S28). For a FenceRequest the function request asks again then.
func (g *Gate) whileDeleted(ctx context.Context, node string, e event.Event, f *api.NodeFence) error {
	if !events.Asks(e.Type()) || f.DeletionTimestamp == nil || fence.Foreign(f.Status) {
		return nil
	}
	why := "the NodeFence of this node is being deleted"
	if objectNamed(e) != nil {
		g.ignored(e, node, string(api.NotYet)+": "+why+", and the function request asks again then")
		return nil
	}
	n, err := g.Client.Node(ctx, node)
	if err != nil {
		return err
	}
	if n != nil && f.Open() && fence.Ends(f, n.UID) != "" {
		why = fence.Ends(f, n.UID)
	}
	g.refuse(ctx, e, node, n, &no{api.RequestMerged, why + ": if the node is to be fenced, send a new one after that"})
	return nil
}

// forRequest is the decision with which a fence opens because of a request.
func forRequest(why api.TriggerType, n *corev1.Node, r *api.AskedBy, resolved api.ResolvedPolicy) api.Decision {
	return api.Decision{NodeUID: n.UID, Trigger: api.Trigger{Type: why, Since: r.JoinedAt}, AskedBy: []api.AskedBy{*r}, ResolvedPolicy: resolved}
}

// join has the open fence of a node answer to a request too (S7).
func (g *Gate) join(ctx context.Context, e event.Event, n *corev1.Node, f *api.NodeFence, r *api.AskedBy) error {
	words := fence.Join(f, *r)
	made, err := g.Client.SaveFenceStatus(ctx, f)
	g.Loop.Keep(made)
	if err == nil {
		g.Reporter.Merged(ctx, report.Refusal{Function: Name, Cause: e, Node: n.Name, NodeUID: n.UID, Reason: api.RequestMerged, Message: words})
	}
	return err
}

// judge is what a request must pass: first what its own words and the node's fences say,
// then on whose word it asks.
func (g *Gate) judge(ctx context.Context, e event.Event, n *corev1.Node, policies []api.FencePolicy, rules []nodeproblem.Rule, f *api.NodeFence) (*api.AskedBy, *no, error) {
	body, err := events.ReadRequest(e)
	if err != nil {
		return nil, &no{api.TokenRefused, err.Error()}, nil
	}
	now := g.Client.Clock().Now()
	r := askedBy(e, now)
	if refused := unserved(e, r, body.Token, n, policies, f, lastEnd(f), false, now); refused != nil {
		return nil, refused, nil
	}
	words := body.Reason
	if body.Token == "" {
		rule, refused, err := g.believed(ctx, e, n, rules, f)
		if refused != nil || err != nil {
			return nil, refused, err
		}
		words = strings.TrimSuffix(rule+": "+words, ": ")
	} else if refused, err := g.authority(ctx, e, body.Token, n, f, r); refused != nil || err != nil {
		return nil, refused, err
	}
	r.Reason, r.Drain = clip.To(longestReason, words), api.DrainWish(body.Drain)
	return r, nil, nil
}

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

func lastEnd(f *api.NodeFence) *api.Time {
	if f == nil {
		return nil
	}
	return f.LastEnd()
}

func selected(policies []api.FencePolicy, n *corev1.Node) bool {
	_, ok := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return ok
}

// believed names the rule on whose word a fence begins that an event without a token asks
// for.
func (g *Gate) believed(ctx context.Context, e event.Event, n *corev1.Node, rules []nodeproblem.Rule, f *api.NodeFence) (rule string, refused *no, err error) {
	refused = &no{api.SourceNotBelieved, fmt.Sprintf("no token, and no NodeProblemPolicy that selects this node has a rule with action Fence that believes source %q for type %s: send a token, or write one, with brokerIsClosed: true", e.Source(), e.Type())}
	for _, want := range nodeproblem.Believing(rules, api.ProblemFence, e.Source(), e.Type()) {
		if refused, err = g.enough(ctx, e, n, f, want); refused == nil {
			return want.String(), nil, err
		}
	}
	return "", refused, nil
}

// tell tells of what an event without a token reports, where a rule says action Alert; done
// if no other rule asks for a fence by it.
func (g *Gate) tell(ctx context.Context, e event.Event, n *corev1.Node, rules []nodeproblem.Rule, f *api.NodeFence) (done bool, err error) {
	alerts := nodeproblem.Believing(rules, api.ProblemAlert, e.Source(), e.Type())
	body, err := events.ReadRequest(e)
	if err != nil || len(alerts) == 0 || body.Token != "" || tooOld(e, g.Client.Clock().Now()) != "" {
		return false, nil // judge says what is wrong with it
	}
	for _, want := range alerts {
		few, err := g.enough(ctx, e, n, f, want)
		switch {
		case err != nil:
			return false, err
		case few != nil:
			g.ignored(e, n.Name, few.message)
		default:
			words := fmt.Sprintf("reported by event %s of %s; %s takes %d within %s", e.ID(), e.Source(), want, want.Count, want.Within)
			g.Reporter.Alerted(ctx, report.Refusal{Function: Name, Cause: e, Node: n.Name, NodeUID: n.UID, Reason: api.NodeProblem, Message: words}, want.Name)
		}
	}
	return len(nodeproblem.Believing(rules, api.ProblemFence, e.Source(), e.Type())) == 0, nil
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

func (g *Gate) refuse(ctx context.Context, e event.Event, node string, n *corev1.Node, why *no) {
	r := report.Refusal{Function: Name, Cause: e, Node: node, Reason: why.why, Message: why.message}
	if n != nil {
		r.NodeUID = n.UID
	}
	g.Reporter.Refused(ctx, r)
}

package requests

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Problem answers a passing problem that was reported of a node. The event is a hint only: what counts are the
// reports in the API server, by the API server's times, after the end of the node's last fence (S18, S30).
// Reports open no fence but one that waits for a person's approval (S20).
func (j *Judge) Problem(ctx context.Context, node string, e event.Event, f *api.NodeFence) (a Answer, err error) {
	n, err := j.Client.Node(ctx, node)
	if err != nil {
		return a, err
	}
	if n == nil {
		j.logIgnored(e, node, "NoSuchNode")
		return a, nil
	}
	reader := j.Client.NewReader(j.Client.Clock().Elapsed())
	policies, err := look.PoliciesShowing(ctx, reader, func(all []api.FencePolicy) bool { return isSelected(all, n) })
	if err != nil {
		return a, err
	}
	resolved, is := policy.ResolvePolicy(policies, node, n.Labels)
	due, err := j.weighReports(ctx, e, n, f, is)
	if err != nil || due.ask == "" && !due.move {
		return a, err
	}
	if due.ask == "" {
		reply := j.Loop.Source.Failing(e, node, j.Client.Clock().Now())
		return Answer{Reply: &reply}, nil
	}
	r := askedBy(e, j.Client.Clock().Now())
	if r == nil {
		j.logIgnored(e, node, unnamed)
		return a, nil
	}
	r.Type = api.ProblemEventType // package fence knows a report by this type
	r.User, r.Reason = clip.To(longestWords, "node problem "+attributeText(e, events.ReasonAttr)), clip.To(longestWords, due.ask)
	if f != nil && (f.Served(r) || f.Open()) {
		return a, j.problemOfOpen(ctx, e, n, f, r, due.uids)
	}
	a.Opens = forRequest(api.TriggerProblem, n, r, resolved)
	a.Opens.UseReports(due.uids)
	return a, nil
}

// problemOfOpen adds a problem to the open fence of a node, if reports opened that fence. Reports do not speak
// for a fence with another reason: they would keep the fence going after its own reason has gone, and no person
// approved that. If the fence answers to the problem already, and drains its node or has drained it, its record
// notes that the problem lasts (drain.onTimeout: GiveUp).
func (j *Judge) problemOfOpen(ctx context.Context, e event.Event, n *corev1.Node, f *api.NodeFence, r *api.AskedBy, uids []string) error {
	switch {
	case f.Served(r) || fence.Ends(f, n.UID) != "" || f.Status.Decision.Trigger.Type != api.TriggerProblem:
	case f.ReportedAgain(*r):
		made, err := j.Client.SaveFenceStatus(ctx, f)
		j.Loop.Keep(made)
		return err
	case !j.answersAlready(f, r):
		f.Status.Decision.UseReports(uids)
		return j.joinFence(ctx, e, n, f, r)
	}
	j.logIgnored(e, n.Name, string(api.RequestMerged))
	return nil
}

// due is what a report leads to. ask says why a person is asked for a fence; empty if nobody is asked. uids are
// the Events that ask. move says that Pods are to be moved.
type due struct {
	ask  string
	uids []string
	move bool
}

// weighReports counts the reports for each rule that a report belongs to, and sends the alerts of rules with
// action Alert. For a node without a FencePolicy it only sends alerts.
func (j *Judge) weighReports(ctx context.Context, e event.Event, n *corev1.Node, f *api.NodeFence, selected bool) (is due, err error) {
	named, again, err := j.problemRules(ctx, e, n)
	if err != nil {
		return is, err
	}
	for _, want := range named {
		asks := selected && want.Action == api.ProblemAsk
		if again && !asks {
			// A resync brings again what a fence may have been lost of. What is only told,
			// or moves Pods, was told when it was news.
			j.logIgnored(e, n.Name, "ToldAgain")
			continue
		}
		got, err := nodeproblem.Reported(ctx, j.Client, n, want, f, j.Client.Clock().Now())
		if err != nil {
			return is, err
		}
		words := got.Words(want, attributeText(e, events.ComponentAttr))
		switch why := got.Short(want); {
		case why != "":
			j.logIgnored(e, n.Name, why)
		case asks && is.ask == "":
			is.ask, is.uids = words, got.UIDs
		case asks: // one rule is enough to ask
		case selected && want.Action == api.ProblemEvict:
			is.move = true
		default:
			if !selected {
				words += "; " + unselectedWords(n.Name)
			}
			j.Reporter.Alerted(ctx, report.Refusal{Function: function, Cause: e, Node: n.Name, NodeUID: n.UID, Reason: api.NodeProblem, Message: words}, attributeText(e, events.ReasonAttr))
		}
	}
	return is, nil
}

// problemRules returns the rules for this node that the report belongs to. again says that a resync has sent
// the report again.
func (j *Judge) problemRules(ctx context.Context, e event.Event, n *corev1.Node) (named []nodeproblem.Rule, again bool, err error) {
	var body events.Payload
	if err := e.DataAs(&body); err != nil {
		return nil, false, fmt.Errorf("%w: data of %s: %w", run.ErrMalformed, e.Type(), err)
	}
	about := api.AboutNode
	if body.Pod != "" {
		about = api.AboutPod
	}
	all, err := j.Client.NodeProblemPolicies(ctx)
	if err != nil {
		return nil, false, err
	}
	named = nodeproblem.Named(nodeproblem.For(all, n.Labels), about, attributeText(e, events.ReasonAttr), attributeText(e, events.ComponentAttr))
	if len(named) == 0 {
		j.logIgnored(e, n.Name, cmp.Or(nodeproblem.NotUnderstood(all, n.Labels), "NotInPolicies"))
	}
	return named, body.Due != "", nil
}

// answersAlready tells whether the open fence answers to this problem. A problem is reported again and again,
// and each report is an event.
func (j *Judge) answersAlready(f *api.NodeFence, r *api.AskedBy) bool {
	same := func(was api.AskedBy) bool { return was.User == r.User && was.Type == r.Type }
	if !slices.ContainsFunc(f.Status.Decision.AskedBy, same) {
		return false
	}
	return f.Status.CutOrReleased || fence.Asked(f, j.Client.Clock().Now())
}

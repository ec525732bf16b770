package cleanup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// evict moves Pods off a node whose machine is healthy. It releases nothing (S1: no release
// without a proof): the node's own kubelet ends each Pod, in its own time. The event is a
// hint; everything in it is read again (S18: no event is believed).
func (c *Cleaner) evict(ctx context.Context, node string, e event.Event) error {
	var body events.Payload
	if err := e.DataAs(&body); err != nil {
		return fmt.Errorf("%w: data of %s: %w", run.ErrMalformed, e.Type(), err)
	}
	n, rules, why, err := c.failing(ctx, node, body)
	if err != nil {
		return err
	}
	if why != "" {
		c.Log.Info("ignored", "function", Name, "node", node, "event", e.ID(), "type", e.Type(), "reason", why)
		return nil
	}
	for _, want := range rules {
		if err := c.evictFor(ctx, n, want, e, body.Component); err != nil {
			return err
		}
	}
	return nil
}

// evictFor moves the Pods that one rule is about.
func (c *Cleaner) evictFor(ctx context.Context, n *corev1.Node, want nodeproblem.Rule, e event.Event, component string) error {
	now := c.Client.Clock().Now()
	got, err := nodeproblem.Reported(ctx, c.Client, n, want, nil, now)
	if err != nil {
		return err
	}
	if short := got.Short(want); short != "" {
		c.Log.Info("ignored", "function", Name, "node", n.Name, "event", e.ID(), "type", e.Type(), "reason", short)
		return nil
	}
	late := want.Evict.DeleteAfter > 0 && now.Sub(got.First) >= want.Evict.DeleteAfter
	m := mover{Cleaner: c, cause: e, node: n, want: want, late: late, words: got.Words(want, component)}
	if m.left, err = c.allowance(ctx, n, want); err != nil {
		return err
	}
	return m.move(ctx, moved(got, want.Evict.What))
}

// failing returns the node, and the rules that move Pods of it because of this problem. If
// no Pod may be moved now, it returns the reason why.
func (c *Cleaner) failing(ctx context.Context, node string, body events.Payload) (n *corev1.Node, rules []nodeproblem.Rule, why string, err error) {
	reader := c.Client.NewReader(c.Client.Clock().Elapsed())
	if n, err = reader.Node(ctx, node); err != nil || n == nil {
		return nil, nil, "NoSuchNode", err
	}
	f, err := c.Client.Fence(ctx, node)
	if err != nil {
		return nil, nil, "", err
	}
	policies, err := reader.Policies(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	all, err := c.Client.NodeProblemPolicies(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	resolved, ok := policy.ResolvePolicy(policies, node, n.Labels)
	rules = nodeproblem.Named(nodeproblem.For(all, n.Labels), api.AboutPod, body.Reason, body.Component)
	rules = slices.DeleteFunc(rules, func(r nodeproblem.Rule) bool { return r.Action != api.ProblemEvict })
	if !ok || len(rules) == 0 {
		return n, nil, cmp.Or(nodeproblem.NotUnderstood(all, n.Labels), "NotInPolicies"), nil
	}
	if why := leftAlone(resolved, look.NodeFrom(n, ""), f); why != "" {
		return n, nil, why, nil
	}
	current := observed.Look{Node: look.NodeFrom(n, "")}
	if err := look.Brakes(ctx, reader, &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: resolved}}}, &current, true); err != nil {
		return n, nil, "", err
	}
	return n, rules, current.Brakes.Hold(c.Client.Clock().Now()), nil
}

// leftAlone returns why no Pod of a node is moved, according to its policy, its Node object
// and its fence; empty if Pods may be moved.
func leftAlone(p api.ResolvedPolicy, seen observed.Node, f *api.NodeFence) string {
	in := hold.Input{Policy: p, Node: seen}
	kept, mode := hold.First(in, hold.ByPolicy, hold.ByNode), hold.First(in, hold.ByMode)
	switch {
	case kept != nil:
		return string(kept.Reason)
	case f != nil && f.Open():
		return string(api.RequestMerged) // an open fence owns what runs there
	case !seen.Ready():
		return "NotReady" // no kubelet would end the Pods
	case mode != nil:
		return string(mode.Reason)
	}
	return ""
}

// moved returns the Pods that are to be moved.
func moved(got nodeproblem.Reports, what api.EvictWhat) (all []corev1.Pod) {
	stuck := map[string]bool{}
	for i := range got.Pods {
		for _, claim := range look.Claims(&got.Pods[i]) {
			stuck[got.Pods[i].Namespace+"/"+claim] = what == api.EvictVolume
		}
	}
	for i := range got.On {
		p := &got.On[i]
		uses := slices.ContainsFunc(look.Claims(p), func(claim string) bool { return stuck[p.Namespace+"/"+claim] })
		reported := slices.ContainsFunc(got.Pods, func(r corev1.Pod) bool { return r.UID == p.UID })
		if (reported || uses) && look.TheWork(p) && p.DeletionTimestamp == nil {
			all = append(all, *p)
		}
	}
	return all
}

// row names the Events that count the moves of one rule.
func row(want nodeproblem.Rule) string { return "evict-" + sum(want.Policy+"\x00"+want.Name) }

func sum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }

// allowance is how many Pods of the node may still be moved. Moves are counted by their
// recorded Events, with the API server's times.
func (c *Cleaner) allowance(ctx context.Context, n *corev1.Node, want nodeproblem.Rule) (int, error) {
	all, err := c.Client.NodeEvents(ctx, n.Name)
	if err != nil {
		return 0, err
	}
	since, left := c.Client.Clock().Now().Add(-want.Within), int(want.Evict.MaxPods)
	for i := range all {
		if all[i].Reason == string(api.PodMoved) && all[i].ReportingInstance == row(want) && all[i].CreationTimestamp.After(since) {
			left--
		}
	}
	return left, nil
}

// mover evicts Pods, one after the other.
type mover struct {
	*Cleaner
	cause event.Event
	node  *corev1.Node
	want  nodeproblem.Rule
	words string
	// left is how many Pods may still be moved; late says that disruption budgets hold no
	// longer.
	left int
	late bool
}

func (m *mover) move(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		p := &pods[i]
		if m.left <= 0 {
			m.tell(ctx, fmt.Sprintf("%d Pods were moved within %s, as many as evict.maxPods allows: %s/%s stays", m.want.Evict.MaxPods, m.want.Within, p.Namespace, p.Name))
			return nil
		}
		held, err := m.ask(ctx, p)
		if err != nil {
			return err
		}
		if held != "" {
			m.tell(ctx, fmt.Sprintf("%s/%s is to be moved, and %s (%s)", p.Namespace, p.Name, held, m.words))
			continue
		}
		m.left--
		name := "nodefence-" + row(m.want) + "." + sum(string(p.UID))
		if err := m.Client.ReportOnce(ctx, m.node, Name, name, string(api.PodMoved), row(m.want), fmt.Sprintf("%s/%s was asked to leave (%s)", p.Namespace, p.Name, m.words)); err != nil {
			return err
		}
		m.Log.Info("moved", "function", Name, "node", m.node.Name, "event", m.cause.ID(), "pod", p.Namespace+"/"+p.Name, "reason", string(api.PodMoved), "message", m.words)
	}
	return nil
}

// ask asks a Pod to leave; held says in words why it stays. Of a Pod with two PodDisruptionBudgets the
// API server says so by an error, which is about this Pod alone: the others are asked all the same.
func (m *mover) ask(ctx context.Context, p *corev1.Pod) (held string, err error) {
	held, err = m.Client.EvictPod(ctx, p.Namespace, p.Name, p.UID)
	var status apierrors.APIStatus
	switch {
	case err != nil && !(errors.As(err, &status) && strings.Contains(status.Status().Message, "more than one PodDisruptionBudget")):
		return "", err // the event comes again
	case err != nil:
		held = "the API server refuses to evict it: " + err.Error()
	case held != "":
		held = "its PodDisruptionBudget holds it: " + held
	}
	if held != "" && m.late {
		return "", m.Client.DeletePod(ctx, p.Namespace, p.Name, p.UID)
	}
	return held, nil
}

// tell reports which Pod is not moved, and why.
func (m *mover) tell(ctx context.Context, words string) {
	m.Reporter.Alerted(ctx, report.Refusal{Function: Name, Cause: m.cause, Node: m.node.Name, NodeUID: m.node.UID, Reason: api.PodHeld, Message: words}, m.want.Reason)
}

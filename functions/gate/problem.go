package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/step"
)

// problem weighs a passing problem that was reported of a node. The event is a
// hint only: what counts is what stands in the API server, by its own times, and
// only what came after the node's last fence (S18, S30).
func (g *Gate) problem(ctx context.Context, node string, e event.Event, f *api.NodeFence) error {
	n, err := g.Client.Node(ctx, node)
	if err != nil {
		return err
	}
	if n == nil {
		g.ignored(e, node, "NoSuchNode")
		return nil
	}
	policies, err := g.Client.Policies(ctx)
	if err != nil {
		return err
	}
	policy, _ := fence.ResolvePolicy(policies, node, n.Labels)
	reason, component := word(e, events.ReasonAttr), word(e, events.ComponentAttr)
	want, ok := named(policies, policy.Name, reason, component)
	if !ok {
		g.ignored(e, node, "NotInPolicies")
		return nil
	}
	all, err := g.Client.EventsAbout(ctx, node)
	if err != nil {
		return err
	}
	times := countReports(all, n, want, g.lately(f, want.Within.Duration))
	if times < int64(want.Count) {
		g.ignored(e, node, fmt.Sprintf("reported %d times of %d", times, want.Count))
		return nil
	}
	words := fmt.Sprintf("%s, reported %d times by %s; policy %s takes %d within %s", reason, times, component, policy.Name, want.Count, want.Within.Duration)
	if want.Action != api.ProblemFence {
		g.Witness.Alerted(ctx, step.Refusal{Function: Name, Cause: e, Node: node, NodeUID: n.UID, Reason: api.ProblemTold, Message: words}, reason)
		return nil
	}
	r := &api.FenceRequest{ID: e.ID(), Source: e.Source(), Type: e.Type(), By: "node problem " + reason}
	if f != nil && (f.Open() || f.Served(r)) {
		g.ignored(e, node, string(api.RequestMerged))
		return nil
	}
	spec := api.NodeFenceSpec{Node: node, NodeUID: n.UID, Generation: 1, Policy: policy, Trigger: api.Trigger{
		Request: r, Reason: words, Since: metav1.NewMicroTime(g.Client.Clock().Now().UTC()),
	}}
	if f != nil {
		spec.Generation = f.Spec.Generation + 1
	}
	return g.write(ctx, f, spec)
}

// named is the entry of the deciding policy for this problem.
func named(policies []api.FencePolicy, name, reason, component string) (api.NodeProblem, bool) {
	for _, p := range policies {
		if p.Name != name {
			continue
		}
		for _, w := range p.Spec.Unhealthy.Problems {
			if w.Reason == reason && (w.Component == "" || w.Component == component) {
				return w, true
			}
		}
	}
	return api.NodeProblem{}, false
}

// countReports is how often a problem was reported since then. An Event that
// began before counts once: when its earlier occurrences were is not known.
func countReports(all []corev1.Event, n *corev1.Node, want api.NodeProblem, since time.Time) (times int64) {
	for i := range all {
		ev := &all[i]
		by := ev.Source.Component
		if by == "" {
			by = ev.ReportingController
		}
		same := ev.Reason == want.Reason && (want.Component == "" || by == want.Component)
		uid := string(ev.InvolvedObject.UID)
		if !same || !slices.Contains([]string{"", n.Name, string(n.UID)}, uid) || !toldAt(ev).After(since) {
			continue
		}
		if ev.CreationTimestamp.After(since) {
			times += max(1, int64(ev.Count), series(ev))
		} else {
			times++
		}
	}
	return times
}

func series(ev *corev1.Event) int64 {
	if ev.Series == nil {
		return 0
	}
	return int64(ev.Series.Count)
}

// toldAt is when the API server was last told of it, by its own clock.
func toldAt(ev *corev1.Event) time.Time {
	at := ev.CreationTimestamp.Time
	for _, m := range ev.ManagedFields {
		if m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

func word(e event.Event, attribute string) string {
	s, err := cetypes.Format(e.Extensions()[attribute])
	if err != nil {
		return ""
	}
	return s
}

func (g *Gate) ignored(e event.Event, node, why string) {
	g.Log.Info("ignored", "function", Name, "node", node, "event", e.ID(), "type", e.Type(), "reason", why)
}

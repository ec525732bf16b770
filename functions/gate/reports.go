package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// reports are how often a problem was reported of a node lately, and of how many Pods.
type reports struct {
	times int64
	pods  int
	// held is why none of them counts now.
	held string
}

// short says what is missing until the problem counts; empty if nothing is.
func (r reports) short(want api.NodeProblem) string {
	switch {
	case r.held != "":
		return r.held
	case r.times < int64(want.Count):
		return fmt.Sprintf("reported %d times of %d", r.times, want.Count)
	case want.About == api.AboutPod && r.pods < int(want.Pods):
		return fmt.Sprintf("reported of %d Pods of %d", r.pods, want.Pods)
	}
	return ""
}

func (r reports) words(want api.NodeProblem, component, policy string) string {
	of := ""
	if want.About == api.AboutPod {
		of = fmt.Sprintf(" of %d Pods", r.pods)
	}
	return fmt.Sprintf("%s, reported %d times%s by %s; policy %s takes %d within %s", want.Reason, r.times, of, component, policy, want.Count, want.Within.Duration)
}

// reported looks up what stands in the API server of a problem (S18).
func (g *Gate) reported(ctx context.Context, n *corev1.Node, want api.NodeProblem, since time.Time) (reports, error) {
	if want.About == api.AboutPod {
		return g.reportedOfPods(ctx, n, want, since)
	}
	all, err := g.Client.EventsAbout(ctx, n.Name)
	if err != nil {
		return reports{}, err
	}
	return countReports(all, want, since, func(ev *corev1.Event) bool {
		return slices.Contains([]string{"", n.Name, string(n.UID)}, string(ev.InvolvedObject.UID))
	}), nil
}

// reportedOfPods counts for a node what is reported of the Pods that are bound to
// it, whoever says that he speaks for the node: an Event is easily written.
func (g *Gate) reportedOfPods(ctx context.Context, n *corev1.Node, want api.NodeProblem, since time.Time) (reports, error) {
	since, held, err := g.othersEnded(ctx, n.Name, since)
	if err != nil || held != "" {
		return reports{held: held}, err
	}
	all, err := g.Client.EventsAboutPods(ctx, want.Reason)
	if err != nil || len(all) == 0 {
		return reports{}, err
	}
	on, err := g.Client.PodsOn(ctx, n.Name)
	if err != nil {
		return reports{}, err
	}
	here := map[types.UID]bool{}
	for i := range on {
		here[on[i].UID] = len(want.Namespaces) == 0 || slices.Contains(want.Namespaces, on[i].Namespace)
	}
	return countReports(all, want, since, func(ev *corev1.Event) bool {
		return here[ev.InvolvedObject.UID] && ev.Type != corev1.EventTypeNormal && !attachedElsewhere(ev)
	}), nil
}

// attachedElsewhere: the attach-detach controller's word for a volume that another
// node still holds. That node has failed, and not the one where the Pod waits now.
func attachedElsewhere(ev *corev1.Event) bool {
	return strings.HasPrefix(ev.Message, "Multi-Attach error")
}

// othersEnded: as long as the work of another node is not released, Pods that were
// moved fail for its sake wherever they are. Nothing that was reported before that
// is over counts for this node: one dead node must not fence those that take over
// its work.
func (g *Gate) othersEnded(ctx context.Context, node string, since time.Time) (time.Time, string, error) {
	fences, err := g.Client.Fences(ctx)
	if err != nil {
		return since, "", err
	}
	for i := range fences {
		f := &fences[i]
		if f.Spec.Node == node {
			continue
		}
		ended := f.Status.Release.DoneAt
		if !f.Open() {
			ended = f.Status.PhaseSince
		}
		switch {
		case f.CurrentPhase() != f.Status.Phase || f.Open() && ended == nil:
			return since, "the work of node " + f.Spec.Node + " is not released yet, and Pods fail for its sake elsewhere", nil
		case ended != nil && ended.After(since):
			since = ended.Time
		}
	}
	return since, "", nil
}

// countReports is how often a problem was reported since then. An Event that
// began before counts once: when its earlier occurrences were is not known.
func countReports(all []corev1.Event, want api.NodeProblem, since time.Time, counts func(*corev1.Event) bool) reports {
	var r reports
	pods := map[types.UID]bool{}
	for i := range all {
		ev := &all[i]
		by := ev.Source.Component
		if by == "" {
			by = ev.ReportingController
		}
		if ev.Reason != want.Reason || want.Component != "" && by != want.Component || !counts(ev) || !toldAt(ev).After(since) {
			continue
		}
		pods[ev.InvolvedObject.UID] = true
		if ev.CreationTimestamp.After(since) {
			r.times += max(1, int64(ev.Count), series(ev))
		} else {
			r.times++
		}
	}
	r.pods = len(pods)
	return r
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

// Package nodeproblem weighs the problems that are reported of nodes, as Kubernetes
// Events about them or about the Pods on them.
//
// What a reader must not get wrong: a CloudEvent about a problem is a hint. What
// counts is what stands in the API server, by its own times (S18, S30).
package nodeproblem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Reader reads what is reported, and of whom.
type Reader interface {
	NodeEvents(ctx context.Context, node string) ([]corev1.Event, error)
	PodEvents(ctx context.Context, reason string) ([]corev1.Event, error)
	PodsOn(ctx context.Context, node string) ([]corev1.Pod, error)
	Fences(ctx context.Context) ([]api.NodeFence, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
}

// Reports are how often a problem was reported of a node lately, and of which Pods.
type Reports struct {
	Times int64
	// First is when the first of them was reported; zero if none was.
	First time.Time
	// Pods are those of the node that it was reported of.
	Pods []corev1.Pod
	// On are all Pods of the node, where Pods were asked for.
	On []corev1.Pod
	// Held is why none of them counts now.
	Held string
}

// Short says what is missing until the problem counts; empty if nothing is.
func (r Reports) Short(want Rule) string {
	switch {
	case r.Held != "":
		return r.Held
	case r.Times < int64(want.Count):
		return fmt.Sprintf("reported %d times of %d", r.Times, want.Count)
	case want.About == api.AboutPod && len(r.Pods) < int(want.Pods):
		return fmt.Sprintf("reported of %d Pods of %d", len(r.Pods), want.Pods)
	}
	return ""
}

// Words are what was reported, and what the rule takes.
func (r Reports) Words(want Rule, component string) string {
	of := ""
	if want.About == api.AboutPod {
		of = fmt.Sprintf(" of %d Pods", len(r.Pods))
	}
	return fmt.Sprintf("%s, reported %d times%s by %s; %s takes %d within %s", want.Reason, r.Times, of, component, want, want.Count, want.Within)
}

// Lately is since when reports count: for so long, and not from before the end of
// the node's last fence. One that a condition opened, and that closed again because
// the node healed before any power was cut, answered no report: what was reported
// while it was open still counts (S19).
func Lately(f *api.NodeFence, within time.Duration, now time.Time) time.Time {
	since := now.Add(-within)
	if f == nil {
		return since
	}
	var ended *api.Time
	if st := f.Status; st.Phase == api.Finished && !idle(st.Outcome, st.Decision.Asker() != nil, st.Power.Cuts) {
		ended = st.PhaseSince
	} else {
		for _, p := range slices.Backward(st.Past) {
			if !idle(p.Outcome, p.Asked(), p.Cuts) {
				ended = &p.ClosedAt
				break
			}
		}
	}
	if ended != nil && ended.After(since) {
		since = ended.Time
	}
	return since
}

// idle: a fence that nobody asked for, and that did nothing.
func idle(outcome api.Reason, asked bool, cuts int32) bool {
	return outcome == api.HealedBeforeFence && !asked && cuts == 0
}

// Reported looks up what stands in the API server of a problem of a node, whose last
// fence f is, if it had one.
func Reported(ctx context.Context, c Reader, n *corev1.Node, want Rule, f *api.NodeFence, now time.Time) (Reports, error) {
	since := Lately(f, want.Within, now)
	if want.About == api.AboutPod {
		return ofPods(ctx, c, n, want, since)
	}
	all, err := c.NodeEvents(ctx, n.Name)
	if err != nil {
		return Reports{}, err
	}
	lately := window{since: since, known: Lately(f, want.Within+lookback, now)}
	r, _ := count(all, want, lately, func(ev *corev1.Event) bool {
		return slices.Contains([]string{"", n.Name, string(n.UID)}, string(ev.InvolvedObject.UID))
	})
	return r, nil
}

// ofPods counts for a node what is reported of the Pods that are bound to it,
// whoever says that he speaks for the node: an Event is easily written.
func ofPods(ctx context.Context, c Reader, n *corev1.Node, want Rule, since time.Time) (Reports, error) {
	since, held, err := othersEnded(ctx, c, n.Name, since)
	if err != nil || held != "" {
		return Reports{Held: held}, err
	}
	all, err := c.PodEvents(ctx, want.Reason)
	if err != nil || len(all) == 0 {
		return Reports{}, err
	}
	on, err := c.PodsOn(ctx, n.Name)
	if err != nil {
		return Reports{}, err
	}
	here := map[types.UID]*corev1.Pod{}
	for i := range on {
		if len(want.Namespaces) == 0 || slices.Contains(want.Namespaces, on[i].Namespace) {
			here[on[i].UID] = &on[i]
		}
	}
	r, of := count(all, want, window{since: since, known: since}, func(ev *corev1.Event) bool {
		p := here[ev.InvolvedObject.UID] // in its own namespace, or another one's writers speak for it
		return p != nil && p.Namespace == ev.Namespace && ev.Type != corev1.EventTypeNormal && !attachedElsewhere(ev) && !ofAnother(ev, n.Name)
	})
	r.On = on
	for i := range on {
		if of[on[i].UID] {
			r.Pods = append(r.Pods, on[i])
		}
	}
	return r, nil
}

// ofAnother: a kubelet's word that says it is of another node than the Pod is bound to. A
// kubelet's credentials can't name another host (infra/crd/events.yaml).
func ofAnother(ev *corev1.Event, node string) bool {
	host := ev.Source.Host
	if host == "" {
		host = ev.ReportingInstance
	}
	return reporter(ev) == "kubelet" && host != "" && host != node
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
func othersEnded(ctx context.Context, c Reader, node string, since time.Time) (time.Time, string, error) {
	fences, err := c.Fences(ctx)
	if err != nil {
		return since, "", err
	}
	for i := range fences {
		f := &fences[i]
		if f.Spec.NodeName == node {
			continue
		}
		ended := f.Status.Release.DoneAt
		if !f.Open() {
			ended = f.Status.PhaseSince
		}
		if f.Open() && ended == nil {
			if ended, err = stays(ctx, c, f); err != nil {
				return since, "", err
			}
		}
		switch {
		case f.CurrentPhase() != f.Status.Phase || f.Open() && ended == nil:
			return since, "the work of node " + f.Spec.NodeName + " is not released yet, and Pods fail for its sake elsewhere", nil
		case ended != nil && ended.After(since):
			since = ended.Time
		}
	}
	return since, "", nil
}

// stays is since when the work of a node under a fence stays where it is: the fence
// waits, and the node is Ready, so that neither we nor Kubernetes move anything. Of
// one that is not Ready Kubernetes does, however long its fence waits. The time is by
// the node's own clock, and can only make less count (S30).
func stays(ctx context.Context, c Reader, f *api.NodeFence) (*api.Time, error) {
	if f.Status.Phase != api.Pending || f.Status.Begun() {
		return nil, nil
	}
	n, err := c.Node(ctx, f.Spec.NodeName)
	if err != nil || n == nil {
		return nil, err
	}
	for _, now := range n.Status.Conditions {
		if now.Type == corev1.NodeReady && now.Status == corev1.ConditionTrue {
			at := metav1.NewMicroTime(now.LastTransitionTime.Time)
			return &at, nil
		}
	}
	return nil, nil
}

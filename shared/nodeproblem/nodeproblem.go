// Package nodeproblem evaluates the problems that are reported of nodes, as Kubernetes
// Events about them or about the Pods on them.
//
// What a reader must not get wrong: a CloudEvent about a problem is a hint. Only the
// objects in the API server count, by its own times (S18: no event is believed; S30: one
// clock).
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

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Reader reads the reports, and the objects that they are about.
type Reader interface {
	NodeEvents(ctx context.Context, node string) ([]corev1.Event, error)
	PodEvents(ctx context.Context, reason string) ([]corev1.Event, error)
	PodsOn(ctx context.Context, node string) ([]corev1.Pod, error)
	Fences(ctx context.Context) ([]api.NodeFence, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
}

// Reports says how often a problem was reported of a node lately, and for which Pods.
type Reports struct {
	Times int64
	// First is the time of the first report; zero if there is none.
	First time.Time
	// Pods are the node's Pods that were reported.
	Pods []corev1.Pod
	// On are all Pods of the node, if the rule is about Pods.
	On []corev1.Pod
	// Held is why no report counts now.
	Held string
	// UIDs are those of the Events in the time that counts, oldest first: a fence uses them up.
	UIDs []string
	// Said are the words of the first of them that count.
	Said []string
}

// mostSaid is how many messages a fence tells of.
const mostSaid = 3

// note adds an Event that counts. Events come in the order of their creation.
func (r *Reports) note(ev *corev1.Event) {
	if r.First.IsZero() {
		r.First = ToldAt(ev)
	}
	if said := strings.TrimSpace(events.Printable(ev.Message)); said != "" && len(r.Said) < mostSaid {
		r.Said = append(r.Said, said)
	}
}

// Short says what is missing until the problem counts; empty if it counts.
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

// Words describe what was reported, and what the rule needs.
func (r Reports) Words(want Rule, component string) string {
	of := ""
	if want.About == api.AboutPod {
		of = fmt.Sprintf(" of %d Pods", len(r.Pods))
	}
	words := fmt.Sprintf("%s, reported %d times%s by %s; %s takes %d within %s", want.Reason, r.Times, of, component, want, want.Count, want.Within)
	if want.Note != "" {
		words += "; " + want.Note
	}
	if len(r.Said) > 0 {
		words += "; reports: " + strings.Join(r.Said, " | ")
	}
	return words
}

// Lately is the time since which reports count: for the length of the rule's time, and only
// after the end of the node's last fence. One kind of fence answered no report: a condition
// opened it, and it closed because the node recovered before any power was cut. Reports
// from the time of such a fence still count (S19: a lost event costs time only).
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

// idle is a fence that nobody requested, and that did nothing.
func idle(outcome api.Reason, asked bool, cuts int32) bool {
	return outcome == api.HealedBeforeFence && !asked && cuts == 0
}

// Reported reads, from the API server, the reports of a node's problem. f is the node's
// last fence, if there was one. What was reported before this Node object was created is
// about an earlier one of the name, and perhaps another machine.
func Reported(ctx context.Context, c Reader, n *corev1.Node, want Rule, f *api.NodeFence, now time.Time) (Reports, error) {
	since := later(Lately(f, want.Within, now), n.CreationTimestamp.Time)
	if want.About == api.AboutPod {
		return ofPods(ctx, c, n, want, window{since: since, now: now, used: usedBy(f)})
	}
	all, err := c.NodeEvents(ctx, n.Name)
	if err != nil {
		return Reports{}, err
	}
	known := later(now.Add(-want.Within-lookback), n.CreationTimestamp.Time) // also from before a fence: a monitor repeats that too
	lately := window{since: since, known: known, now: now, used: usedBy(f)}
	r, _ := count(all, want, lately, func(ev *corev1.Event) bool {
		return OfNode(ev) && slices.Contains([]string{"", n.Name, string(n.UID)}, string(ev.InvolvedObject.UID))
	})
	return r, nil
}

// usedBy returns the Events that asked for fences of the node that are over. As long as a fence is open,
// the Events that asked for it speak for it.
func usedBy(f *api.NodeFence) []string {
	if f == nil || f.Open() {
		return nil
	}
	return f.Status.Decision.Reports
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ofPods counts the reports about the Pods that are bound to the node. The node that a
// reporter names does not count: anybody can write an Event.
func ofPods(ctx context.Context, c Reader, n *corev1.Node, want Rule, lately window) (Reports, error) {
	since, held, err := othersEnded(ctx, c, n.Name, lately.since)
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
	lately.since, lately.known = since, since
	r, of := count(all, want, lately, func(ev *corev1.Event) bool {
		p := here[ev.InvolvedObject.UID] // only in the Pod's own namespace; others who may write Events elsewhere could report it
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

// ofAnother reports whether a kubelet says that the Pod is on another node than it is bound
// to. A kubelet's credentials can't name another host (infra/crd/events.yaml).
func ofAnother(ev *corev1.Event, node string) bool {
	host := ev.Source.Host
	if host == "" {
		host = ev.ReportingInstance
	}
	return reporter(ev) == "kubelet" && host != "" && host != node
}

// attachedElsewhere reports whether the attach-detach controller says that another node
// still holds the volume. That other node has failed, and not the node where the Pod waits.
func attachedElsewhere(ev *corev1.Event) bool {
	return strings.HasPrefix(ev.Message, "Multi-Attach error")
}

// othersEnded returns since when reports count with regard to other nodes. While another
// node's work is not released, the Pods that were moved fail because of that, on any node.
// Reports from before its release do not count for this node: one dead node must not fence
// the nodes that take over its work.
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

// stays returns since when the work of a node under a fence is not moved: the fence waits,
// and the node is Ready, so that neither nodefence nor Kubernetes moves it. If the node is
// not Ready, Kubernetes moves the work, however long the fence waits. The time is from the
// node's own clock, and can only make fewer reports count (S30).
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

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// web runs so many pods, all of them on one node, under a disruption budget. Later they may run on each node: the label
// that they ask for is on that node alone at first. A cordon of the others, in its place, may come too late for a scheduler
// on a busy machine.
func (w *world) web(node string, pods int, budget string) {
	w.t.Helper()
	all, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	takes := func(name string) { w.patch(name, `{"metadata":{"labels":{"takes":"web"}}}`) }
	takes(node)
	must(w.t, w.Apply(w.ctx, fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {%s, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {takes: web}
      containers: [{name: web, image: example.invalid/web}]
`, budget, pods)))
	w.until("the pods to run on "+node, func() (bool, error) {
		b, err := w.Kube.PolicyV1().PodDisruptionBudgets("default").Get(w.ctx, "web", metav1.GetOptions{})
		on, lerr := w.webPods(node)
		return err == nil && int(b.Status.CurrentHealthy) == pods && len(on) == pods, lerr
	})
	for i := range all.Items {
		takes(all.Items[i].Name)
	}
}

// webPods are the UIDs of the pods that run on a node.
func (w *world) webPods(node string) (on []string, err error) {
	all, err := w.Kube.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		if p := &all.Items[i]; p.Spec.NodeName == node && p.Status.Phase == corev1.PodRunning {
			on = append(on, string(p.UID))
		}
	}
	slices.Sort(on)
	return on, nil
}

// fewestWebPods watches the pods from now on. What it returns ends the watch, and says how few of them
// were Ready and not leaving at any moment: -1 if the watch ended before.
func (w *world) fewestWebPods() (ends func() int) {
	w.t.Helper()
	list := metav1.ListOptions{LabelSelector: "app=web"}
	all, err := w.Kube.CoreV1().Pods("default").List(w.ctx, list)
	must(w.t, err)
	well := map[string]bool{}
	for i := range all.Items {
		if p := &all.Items[i]; stays(p) {
			well[p.Name] = true
		}
	}
	list.ResourceVersion = all.ResourceVersion
	events, err := w.Kube.CoreV1().Pods("default").Watch(w.ctx, list)
	must(w.t, err)
	fewest, done := len(well), make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				return
			}
			if delete(well, p.Name); e.Type != watch.Deleted && stays(p) {
				well[p.Name] = true
			}
			fewest = min(fewest, len(well))
		}
	}()
	return func() int {
		select {
		case <-done:
			return -1
		default:
			events.Stop()
			<-done
			return fewest
		}
	}
}

// stays tells that a pod is Ready and is not leaving.
func stays(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// tells checks that the story of a fence has these words for a reason in a phase.
func (w *world) tells(f *api.NodeFence, p api.Phase, why api.Reason, words string) {
	w.t.Helper()
	if !slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool {
		return h.Phase == p && h.Reason == why && strings.Contains(h.Message, words)
	}) {
		w.t.Errorf("nothing says %s %s: %s\n%s", p, why, words, rig.Story(f))
	}
}

// TestDrain: the ten pods of a node that lives leave it one by one, as their budget says, and its
// machine is cut once they have. Nothing is left to be force-deleted. With drain: Skip the machine is
// cut at once.
func TestDrain(t *testing.T) {
	w := newWorld(t, 4, quick+"drain: {timeout: 10m}\n")
	w.web("node-1", 10, "maxUnavailable: 1")
	w.start(nil)
	fewest := w.fewestWebPods()
	w.admin("nodefence-system", "node-1", nil)
	var f *api.NodeFence
	w.until("the drain to end", func() (bool, error) {
		on, err := w.webPods("node-1")
		if err != nil {
			return false, err
		}
		if f, err = w.Fences.Fence(w.ctx, "node-1"); err != nil || f == nil || f.Status.Drain == nil {
			return false, err
		}
		if len(on) > 0 && f.Status.Drain.EndedAt == nil {
			w.words("node-1", "")
		}
		return f.Status.Drain.EndedAt != nil, nil
	})
	if n := fewest(); n != 9 {
		t.Errorf("of the ten pods %d were well at a time; the budget allows 9, and no fewer", n)
	}
	if d := f.Status.Drain; d.Ended != api.DrainEmpty || d.PodsLeft != 0 || d.Rounds < 2 {
		t.Errorf("the drain: %+v", d)
	}
	if on, err := w.webPods("node-1"); err != nil || len(on) > 0 {
		t.Errorf("the drain is over, and on the node are %v (%v)", on, err)
	}
	f = w.ended("node-1", api.Recovered)
	w.tells(f, api.Draining, api.NodeDraining, "its pods are asked to leave")
	w.tells(f, api.Draining, api.DisruptionBudget, "The disruption budget web ")
	w.tells(f, api.Pending, api.Drained, "no pod is left")
	if f.Status.Release.Pods != 0 {
		t.Errorf("%d pods were force-deleted", f.Status.Release.Pods)
	}
	w.words("node-1", "off on")
	w.unmarked("node-1")

	w.admin("nodefence-system", "node-2", map[string]any{"drain": "Skip"})
	if f = w.ended("node-2", api.Recovered); f.Status.Drain != nil {
		t.Errorf("with drain Skip it drains: %+v", f.Status.Drain)
	}
	w.words("node-2", "off on")
}

// TestDrainGivesUp: under onTimeout GiveUp and a budget of zero nothing is cut, the node is given back,
// and record and FenceRequest say by which budget.
func TestDrainGivesUp(t *testing.T) {
	w := newWorld(t, 3, quick+"drain: {timeout: 8s, onTimeout: GiveUp}\n")
	w.web("node-1", 2, "maxUnavailable: 0")
	before, err := w.webPods("node-1")
	must(t, err)
	w.start(nil)
	o := w.admin("nodefence-system", "node-1", nil)
	const words = "The disruption budget web "
	f := w.ended("node-1", api.DrainTimedOut)
	w.tells(f, api.Draining, api.DisruptionBudget, words)
	if !strings.Contains(f.Status.Message, words) || f.Status.Drain.Ended != api.DrainGivenUp || f.Status.DecidedAt != nil {
		t.Errorf("it ended with %q, drain %+v", f.Status.Message, f.Status.Drain)
	}
	c := meta.FindStatusCondition(w.lastWord(o).Status.Conditions, "Succeeded")
	if c.Status != metav1.ConditionFalse || c.Reason != string(api.DrainTimedOut) || !strings.Contains(c.Message, words) {
		t.Errorf("the FenceRequest says %+v", c)
	}
	w.words("node-1", "")
	w.unmarked("node-1")
	if after, err := w.webPods("node-1"); err != nil || !slices.Equal(before, after) {
		t.Errorf("pods %v became %v (%v)", before, after, err)
	}
}

// TestDrainOfANodeThatFallsSilent: it is fenced as one that failed, and its pods are released with a
// proof.
func TestDrainOfANodeThatFallsSilent(t *testing.T) {
	w := newWorld(t, 4, quick+"drain: {timeout: 1h, onTimeout: GiveUp}\n")
	w.web("node-1", 2, "maxUnavailable: 0")
	w.start(nil)
	w.admin("nodefence-system", "node-1", nil)
	w.held("node-1", api.DisruptionBudget)
	w.node("node-1", "crash")
	f := w.ended("node-1", api.Recovered)
	w.tells(f, api.Pending, api.DrainCutShort, "the node is fenced as one that failed")
	if f.Status.Drain.Ended != api.DrainSilent || f.Status.Release.Pods != 2 {
		t.Errorf("drain %+v, release %+v", f.Status.Drain, f.Status.Release)
	}
	w.words("node-1", "off on")
	w.unmarked("node-1")
}

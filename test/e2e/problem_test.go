package e2e

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

var problems = rig.Problems("problems",
	"{name: hung, kubernetesEvent: {reason: TaskHung, component: kernel-monitor}, threshold: {count: 3}, action: Ask}",
	"{name: oom, kubernetesEvent: {reason: OOMKilling}, threshold: {count: 2}}",
	"{name: mount, kubernetesEvent: {reason: FailedMount, about: Pod}, threshold: {count: 3, pods: 2}, action: Ask}",
	"{name: attach, kubernetesEvent: {reason: FailedAttachVolume, about: Pod}, action: Evict, evict: {deleteAfter: 2s, maxPods: 2}}")

// TestProblems: a problem that a rule is about opens a fence once it was reported often enough, which waits
// for a person's approval, or is only reported on; reports from before a fence do not lead to the next (S18, S20).
func TestProblems(t *testing.T) {
	w := newWorld(t, 4, quick)
	must(t, w.Apply(w.ctx, problems))
	p := w.start(nil)
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	must(t, p.Watching(w.ctx))

	for i := range 2 {
		w.report("node-1", "TaskHung", fmt.Sprint("a", i))
		w.report("node-2", "OOMKilling", fmt.Sprint("b", i))
		w.report("node-3", "Rusty", fmt.Sprint("c", i))
	}
	w.until("what is only told to be told", func() (bool, error) {
		m := string(get(t, server.URL+"/metrics"))
		return value(m, `nodefence_node_problems_total{node="node-2",reason="OOMKilling"}`) != "", nil
	})
	w.until("what is not often enough, or not named, to be passed by", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("reported 2 times of 3")) && bytes.Contains(w.log.Bytes(), []byte("NotInPolicies")), nil
	})
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		if f, err := w.Fences.Fence(w.ctx, node); err != nil || f != nil {
			t.Errorf("a record of %s was opened (%v)", node, err)
		}
	}
	w.report("node-1", "TaskHung", "a2")
	w.asksPerson("node-1")
	must(t, w.patchWords("node-1", approval(1)))
	f := w.phase("node-1", api.Finished)
	if by := f.Status.Decision.AskedBy[0].User; by != "node problem TaskHung" {
		t.Errorf("asked for by %q", by)
	}
	if why := f.Status.Decision.AskedBy[0].Reason; !strings.HasSuffix(why, "rule hung of NodeProblemPolicy problems takes 3 within 10m0s; reports: as seen in the kernel's log: a0 | as seen in the kernel's log: a1 | as seen in the kernel's log: a2") {
		t.Errorf("fenced because %q", why)
	}
	w.words("node-1", "off on")

	passed := func() int { return bytes.Count(w.log.Bytes(), []byte(" times of 3")) }
	before := passed()
	w.report("node-1", "TaskHung", "a3")
	w.until("one more report to be passed by", func() (bool, error) { return passed() > before, nil })
	w.words("node-1", "off on")
	w.words("node-2", "")
}

// TestProblemsOfPods: reports about Pods count for the node that the Pods are bound to, by the
// number of Pods.
func TestProblemsOfPods(t *testing.T) {
	w := newWorld(t, 3, quick)
	must(t, w.Apply(w.ctx, problems))
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	node := w.database(1)
	w.reportPod("db-0", "FailedMount", "a")
	w.reportPod("db-0", "FailedMount", "b")
	w.reportPod("db-0", "FailedMount", "c")
	w.until("one Pod to be too few", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("reported of 1 Pods of 2")), nil
	})
	w.pinned("other", node)
	w.reportPod("other", "FailedMount", "d")
	w.asksPerson(node)
	must(t, w.patchWords(node, approval(1)))
	f := w.phase(node, api.Finished)
	if why := f.Status.Decision.AskedBy[0].Reason; !strings.HasPrefix(why, "FailedMount, reported 4 times of 2 Pods by attachdetach-controller") {
		t.Errorf("fenced because %q", why)
	}
	w.words(node, "off on")
}

// TestPodsAreMovedOffALiveNode: a Pod whose problem its policy wants moved is evicted, or deleted
// once its disruption budget's time is over; its own kubelet ends it, no device gets a call, and
// Pods that fail everywhere are not moved for ever.
func TestPodsAreMovedOffALiveNode(t *testing.T) {
	w := newWorld(t, 3, quick)
	must(t, w.Apply(w.ctx, problems))
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	node := w.database(1)
	must(t, w.Apply(w.ctx, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: db, namespace: default}\nspec: {minAvailable: 1, selector: {matchLabels: {app: db}}}\n"))
	uid := func() string {
		pod, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).Get(w.ctx, "db-0", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		must(t, err)
		return string(pod.UID)
	}
	said := func(words string) func() (bool, error) {
		return func() (bool, error) { return bytes.Contains(w.log.Bytes(), []byte(words)), nil }
	}
	held, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).Get(w.ctx, "db-0", metav1.GetOptions{})
	must(t, err)
	first := uid()
	w.reportOf(held, "FailedAttachVolume", "a")
	w.until("the budget to hold it", said("its PodDisruptionBudget holds it"))
	if uid() != first {
		t.Error("it was moved against its budget")
	}
	// Reports continue until somebody does something; the budget has two seconds.
	var again string
	for i := 0; ; i++ {
		w.reportOf(held, "FailedAttachVolume", fmt.Sprint("b", i))
		if again = uid(); again != first {
			break
		}
		select {
		case <-w.ctx.Done():
			t.Fatal("it was never moved")
		case <-time.After(500 * time.Millisecond): // how often reports come
		}
	}
	must(t, w.Kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(w.ctx, "db", metav1.DeleteOptions{}))
	second := w.moved("db-0", "")
	for i, was := 0, uid(); i < 2; i++ {
		w.reportPod("db-0", "FailedAttachVolume", fmt.Sprint("c", i))
		if i == 0 {
			w.until("it to be moved again", func() (bool, error) { now := uid(); return now != "" && now != was, nil })
			w.moved("db-0", "")
		}
	}
	w.until("the Pod to have been moved often enough", said("as many as evict.maxPods allows"))
	for _, n := range []string{node, second} {
		w.words(n, "")
		if f, err := w.Fences.Fence(w.ctx, n); err != nil || f != nil {
			t.Errorf("a record of %s was opened (%v)", n, err)
		}
	}
	w.oneWriter()
}

// TestOneForgedEventCutsNothing: whoever may write Events in namespace default, and no ConfigMap names the monitors, has
// a person asked at most, also by a rule that was stored with action Fence, and whatever times and counts the Events
// say (S18, S20).
func TestOneForgedEventCutsNothing(t *testing.T) {
	w := newWorld(t, 2, quick)
	must(t, w.Apply(w.ctx, rig.Problems("problems", "{name: hung, kubernetesEvent: {reason: TaskHung, component: kernel-monitor}, threshold: {count: 3}, action: Ask}")))
	p := w.start(nil)
	must(t, p.Watching(w.ctx))
	future := metav1.NewTime(time.Now().AddDate(72, 0, 0))
	forge := func(name string, count int32) {
		t.Helper()
		_, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).Create(w.ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, CreationTimestamp: future, UID: "chosen",
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &future, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:reason":{}}`)}}},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "node-1", APIVersion: "v1"},
			Type:           corev1.EventTypeWarning, Reason: "TaskHung", Message: name, Count: count, FirstTimestamp: future, LastTimestamp: future,
			Source: corev1.EventSource{Component: "kernel-monitor", Host: "node-1"},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	forge("one", 3)
	w.until("one Event to be too few, whatever it counts", func() (bool, error) {
		return bytes.Contains(w.log.Bytes(), []byte("reported 1 times of 3")), nil
	})
	forge("two", 1)
	forge("three", 1)
	w.asksPerson("node-1")
	w.words("node-1", "")
	w.unmarked("node-1")
	must(t, w.patchWords("node-1", `{"abort":{"fenceNumber":1,"by":"lab-admin","at":"2026-01-01T00:00:01Z"}}`))
	w.ended("node-1", api.Aborted)
	passed := func() int { return bytes.Count(w.log.Bytes(), []byte(" times of 3")) }
	before := passed()
	forge("four", 9)
	w.until("what is used up to ask no more", func() (bool, error) { return passed() > before, nil })
	w.words("node-1", "")
}

// asksPerson waits for the fence of a node to wait for a person's approval.
func (w *world) asksPerson(node string) {
	w.t.Helper()
	w.untilFence(node, "the fence of "+node+" to wait for a person", func(f *api.NodeFence) bool {
		return f.Status.Phase == api.Pending && f.Status.Reason == api.WaitingForApproval
	})
}

// reportPod is one Event about the Pod that has this name now.
func (w *world) reportPod(pod, reason, name string) {
	w.t.Helper()
	p, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).Get(w.ctx, pod, metav1.GetOptions{})
	must(w.t, err)
	w.reportOf(p, reason, name)
}

// reportOf is one Event about exactly this Pod, by a controller that runs on no node.
func (w *world) reportOf(p *corev1.Pod, reason, name string) {
	w.t.Helper()
	now := metav1.Now()
	_, err := w.Kube.CoreV1().Events(p.Namespace).Create(w.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: p.Name + "." + name, Namespace: p.Namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID, APIVersion: "v1"},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: "timed out: " + name, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: "attachdetach-controller"},
	}, metav1.CreateOptions{})
	must(w.t, err)
}

// pinned is a Pod that is bound to this node.
func (w *world) pinned(name, node string) {
	w.t.Helper()
	_, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}, metav1.CreateOptions{})
	must(w.t, err)
}

// report is one Event as node-problem-detector writes it, with a message of its own.
func (w *world) report(node, reason, name string) {
	w.t.Helper()
	now := metav1.Now()
	_, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).Create(w.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: node + "." + name, Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node, UID: "", APIVersion: "v1"},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: "as seen in the kernel's log: " + name, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: "kernel-monitor", Host: node},
	}, metav1.CreateOptions{})
	must(w.t, err)
}

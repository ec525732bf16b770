package e2e

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const problems = quick + `
unhealthy:
  problems:
    - {reason: TaskHung, component: kernel-monitor, count: 3, action: Fence}
    - {reason: OOMKilling, count: 2}
`

// TestProblems: a problem that the policy names leads to a fence once it was
// reported often enough, or is only told; reports from before a fence do not lead
// to the next.
func TestProblems(t *testing.T) {
	w := newWorld(t, 4, problems)
	p := w.start(nil)
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	w.until("the source to watch", func() (bool, error) { return p.Ready(w.ctx) == nil, nil })

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
	f := w.phase("node-1", api.Finished)
	if by := f.Spec.Trigger.Request.By; by != "node problem TaskHung" {
		t.Errorf("asked for by %q", by)
	}
	w.words("node-1", "off on")

	passed := func() int { return bytes.Count(w.log.Bytes(), []byte(" times of 3")) }
	before := passed()
	w.report("node-1", "TaskHung", "a3")
	w.until("one more report to be passed by", func() (bool, error) { return passed() > before, nil })
	w.words("node-1", "off on")
	w.words("node-2", "")
}

// report is one Event as node-problem-detector writes it.
func (w *world) report(node, reason, name string) {
	w.t.Helper()
	now := metav1.Now()
	_, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).Create(w.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: node + "." + name, Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node, UID: "", APIVersion: "v1"},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: "as seen in the kernel's log", Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: "kernel-monitor", Host: node},
	}, metav1.CreateOptions{})
	must(w.t, err)
}

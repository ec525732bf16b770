package nodeproblem

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestReportsOfTheFutureCountForOneFence: three reports led to a fence, which is over. Nobody reports
// anything more. Their managed fields are of a time that is still to come, because a client wrote it, or the clock of
// the API server was ahead and was set back. A time that lies ahead counts for nothing (S18, S30).
func TestReportsOfTheFutureCountForOneFence(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, ahead := range map[string]time.Duration{"control: of then": 0, "a clock that was an hour ahead was set back": time.Hour, "a client wrote it": 72 * 365 * 24 * time.Hour} {
		var all []corev1.Event
		for i := range 3 {
			written := metav1.NewTime(start.Add(ahead))
			ev := corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("e", i), CreationTimestamp: metav1.NewTime(start), ManagedFields: []metav1.ManagedFieldsEntry{{Time: &written}}}, Type: "Warning", Reason: "TaskHung", Message: fmt.Sprint("task ", i), Count: 1}
			if ahead == time.Hour {
				ev.CreationTimestamp = written
			}
			ev.InvolvedObject = corev1.ObjectReference{Kind: "Node", Name: "n"}
			ev.Source.Component = "kernel-monitor"
			all = append(all, ev)
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))}}
		want := Rule{About: api.AboutNode, Reason: "TaskHung", Component: "kernel-monitor", Count: 3, Pods: 1, Within: 10 * time.Minute}
		over := metav1.NewMicroTime(start.Add(time.Minute))
		f := &api.NodeFence{}
		f.Status.Phase, f.Status.FenceNumber, f.Status.PhaseSince, f.Status.Outcome, f.Status.Power.Cuts = api.Finished, 1, &over, api.Recovered, 1
		for _, later := range []time.Duration{2 * time.Minute, 15 * time.Minute, 55 * time.Minute} {
			r, err := Reported(t.Context(), reported{events: all}, n, want, f, start.Add(later))
			if err != nil {
				t.Fatal(err)
			}
			if short := r.Short(want); short == "" {
				t.Errorf("%s: %s after the reports, %s after the fence that answered them: %d count, and the node is fenced again", name, later, later-time.Minute, r.Times)
			}
		}
	}
}

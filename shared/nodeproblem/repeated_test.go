package nodeproblem

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAMonitorThatStartsAfterAFenceReportsNothingNew: node-problem-detector starts again after the fence that its
// Events asked for, reads the last five minutes of its log again, and writes the same lines as new Events (S18, S26).
func TestAMonitorThatStartsAfterAFenceReportsNothingNew(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	written := func(run string, at time.Time, lines ...string) (all []corev1.Event) {
		for _, line := range lines {
			ev := corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: types.UID(run + line), CreationTimestamp: metav1.NewTime(at)}, Type: "Warning", Reason: "TaskHung", Message: line, Count: 1}
			ev.InvolvedObject, ev.Source.Component = corev1.ObjectReference{Kind: "Node", Name: "n"}, "kernel-monitor"
			all = append(all, ev)
		}
		return all
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))}}
	want := Rule{About: api.AboutNode, Reason: "TaskHung", Component: "kernel-monitor", Count: 3, Pods: 1, Within: 10 * time.Minute}
	ended := metav1.NewMicroTime(start.Add(2 * time.Minute))
	f := &api.NodeFence{}
	f.Status.Phase, f.Status.FenceNumber, f.Status.PhaseSince, f.Status.Outcome, f.Status.Power.Cuts = api.Finished, 1, &ended, api.Recovered, 1
	first := written("first", start, "a", "b", "c")
	for i := range first {
		f.Status.Decision.UseReports([]string{string(first[i].UID)})
	}
	before := written("before", start.Add(time.Minute), "a", "b", "c")
	after := written("after", start.Add(2*time.Minute+25*time.Second), "a", "b", "c")
	for name, c := range map[string]struct {
		events []corev1.Event
		want   int64
	}{
		"it starts before the end of the fence":               {append(first, before...), 0},
		"it starts after the fence":                           {append(first, after...), 0},
		"it starts again and again":                           {append(append(first, before...), after...), 0},
		"it starts after the fence, and has one line more":    {append(append(first, after...), written("more", start.Add(150*time.Second), "d")...), 1},
		"its first Events are gone, and a repetition is left": {append(before, after...), 0},
		"the used-up Events read as created after it":         {written("first", start.Add(3*time.Minute), "a", "b", "c"), 0},
	} {
		r, err := Reported(t.Context(), reported{events: c.events}, n, want, f, start.Add(3*time.Minute))
		if err != nil || r.Times != c.want {
			t.Errorf("%s: %d, want %d, %v", name, r.Times, c.want, err)
		}
	}
}

// TestUsedReportsAreBounded: a record names the last reports that it used up.
func TestUsedReportsAreBounded(t *testing.T) {
	var d api.Decision
	for i := range 300 {
		d.UseReports([]string{fmt.Sprint(i), fmt.Sprint(i)})
	}
	if len(d.Reports) != 200 || d.Reports[0] != "100" || d.Reports[199] != "299" {
		t.Errorf("%d reports: %v", len(d.Reports), d.Reports)
	}
}

package policystatus

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAnEarlierAbortIsTold: a person aborted a fence of a lost node, and a fence for something else has ended
// since. The policy says why the node is not fenced, for as long as it is that failure.
func TestAnEarlierAbortIsTold(t *testing.T) {
	f := pending("b")
	f.Status.Phase, f.Status.Outcome, f.Status.FenceNumber, f.Status.Decision.NodeUID = api.Finished, api.HealedBeforeFence, 5, "u"
	f.Annotations = map[string]string{api.AbortedAnnotation: `{"nodeUID":"u","evidence":[{"type":"NodeCondition","condition":"Ready","status":"Unknown","mark":"2026-01-02T03:00:00.000000Z"}]}`}
	s := &shown{fences: []api.NodeFence{f}}
	s.policy.Name = "p"
	w := &Writer{Objects: s, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		lost time.Time
		want []api.HeldNode
	}{
		"the same failure": {time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), []api.HeldNode{{NodeName: "b", Reason: api.Aborted,
			Message: "a person aborted a fence of it before fence 5: what was wrong then opens no other one; if it is to be fenced for that, ask for it by a FenceRequest"}}},
		"another one": {time.Date(2026, 1, 2, 3, 1, 0, 0, time.UTC), nil},
		"it is back":  {time.Time{}, nil},
	} {
		s.lost = metav1.NewTime(c.lost)
		if err := w.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, s.policy.Status.Held); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

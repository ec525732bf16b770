package loop

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatCountsOfWhatWasRead: a function that is handed a fence may use what was just seen of
// it. A function that is woken may not, because something has changed. Nor may a function after
// an action to which others react (S5).
func TestWhatCountsOfWhatWasRead(t *testing.T) {
	w := newWorld(api.Isolating)
	wakeUp := events.SourceOf("c").Phase(w.record, noon, noon)
	handover := wakeUp.Clone()
	events.CausedBy(&handover, wakeUp)
	hint := events.SourceOf("c").Marked("n", "node", "f", noon, noon)
	caused := hint.Clone()
	events.CausedBy(&caused, wakeUp)
	const began, answered = time.Millisecond, 2 * time.Millisecond // the first answers of the clock
	for name, c := range map[string]struct {
		phase api.Phase
		cause event.Event
		want  []time.Duration
	}{
		"a wake-up":                           {api.Isolating, wakeUp, []time.Duration{began, began}},
		"a handover":                          {api.Isolating, handover, []time.Duration{0, 0}},
		"an event of another kind":            {api.Isolating, hint, []time.Duration{began, began}},
		"also one with a cause":               {api.Isolating, caused, []time.Duration{began, began}},
		"a call to a device":                  {api.Fencing, handover, []time.Duration{0, answered}},
		"Ready=Unknown, then the first batch": {api.Releasing, handover, []time.Duration{0, answered, answered}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.phase)
			w.taint = c.phase == api.Fencing
			l := w.loop(nil, c.phase)
			if c.phase == api.Releasing {
				at := metav1.NewMicroTime(w.now)
				w.record.Status.BootIDBefore, w.record.Status.Power.SwitchedByUs = "a", true
				w.record.Status.Decision.Settings.Release.Strategy = api.ReleaseResourceDeletion
				w.record.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: at, BootIDBefore: "a"}
				l.Does = &ready{world: w}
			}
			if _, err := l.Run(t.Context(), "n", c.cause, l.Elapsed()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, w.notBefore); d != "" {
				t.Error(w.asked.String(), d)
			}
		})
	}
}

// ready is a world whose node says that it is Ready until it is marked, and has a pod until that
// is released.
type ready struct {
	*world
	marked, freed bool
}

func (w *ready) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	err := w.world.Look(ctx, f, seen, notBefore)
	seen.Left = &observed.Left{}
	if !w.freed {
		seen.Left.Delete = []observed.Pod{{Name: "p"}}
	}
	if !w.marked {
		seen.Node.Conditions[0].Status = "True"
	}
	return err
}

func (w *ready) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	w.marked, w.freed = w.marked || a == fence.MarkNotReady, a == fence.Release
	return w.world.Act(ctx, f, a, seen)
}

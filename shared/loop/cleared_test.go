package loop

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// freed is a world whose node has nothing left to release. meanwhile is what others do while the
// taint is cleared for the first time.
type freed struct {
	*world
	meanwhile func(*world)
}

func (w *freed) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	seen.Left = &observed.Left{}
	return w.world.Look(ctx, f, seen, notBefore)
}

func (w *freed) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	w.before, w.meanwhile = w.meanwhile, nil
	return w.world.Act(ctx, f, a, seen)
}

// TestATaintIsClearedForTheRecordAsItIs: the taint may be about to be placed by an invocation
// that has saved its batch and stands still. Clearing fails that one; if another batch was saved
// since, it is cleared again (S23).
func TestATaintIsClearedForTheRecordAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*world)
		want      string
	}{
		"nobody else":                  {nil, "GLS(ClearOutOfService)LS"},
		"another batch was saved then": {func(w *world) { w.record.Status.Release.Batches++; w.wrote() }, "GLS(ClearOutOfService)LSGL(ClearOutOfService)LS"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(api.Releasing)
			at := metav1.NewMicroTime(noon)
			st := &w.record.Status
			st.BootIDBefore, st.Power.SwitchedByUs, st.Placed.OutOfService = "a", true, true
			st.Release = api.ReleaseRecord{StartedAt: &at, Batches: 1}
			st.Proof = &api.Proof{Type: api.ProofSeenOff, At: at, BootIDBefore: "a"}
			l := w.loop(nil, api.Releasing)
			l.Does = &freed{w, c.meanwhile}
			if _, err := l.Run(t.Context(), "n", event.New(), 0); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, w.asked.String()); d != "" {
				t.Error(d)
			}
			if got := w.record.Status.Phase; got != api.PoweringOn {
				t.Errorf("it is %s", got)
			}
		})
	}
}

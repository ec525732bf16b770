package loop

import (
	"context"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// writing is a world whose actions write the record. gone: the API server no longer has the record after that.
type writing struct {
	*world
	gone bool
}

func (w *writing) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	r, err := w.world.Act(ctx, f, a, seen)
	w.wrote()
	r.Record = w.record.DeepCopy()
	if w.gone {
		r.Record.ResourceVersion = ""
	}
	return r, err
}

// TestWhatAnActionWritesIsDecidedOn: the next decision is made on the record as an action has written it. G
// reads the record, S saves it, L looks.
func TestWhatAnActionWritesIsDecidedOn(t *testing.T) {
	for name, c := range map[string]struct {
		gone bool
		want string
	}{
		"it is there": {false, "GLS(Isolate)LS"},
		"it is gone":  {true, "GLS(Isolate)GLS"},
	} {
		w := &writing{newWorld(api.Isolating), c.gone}
		l := w.loop(nil, api.Isolating)
		l.Does = w
		if _, err := l.Run(t.Context(), "n", event.New(), 0); err != nil {
			t.Error(name, err)
		}
		if d := cmp.Diff(c.want, w.asked.String()); d != "" || w.record.Status.Phase != api.Fencing {
			t.Errorf("%s: %s %s", name, w.record.Status.Phase, d)
		}
	}
}

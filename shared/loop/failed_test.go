package loop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/report"
)

// refusing is a world in which some writes are refused.
type refusing struct {
	*world
	// act is why no action is carried out, save why no record is written.
	act, save error
	unsaved   []string
}

func (w *refusing) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	if w.act != nil {
		w.asked.WriteString("(" + string(a) + ")")
		return Result{}, w.act
	}
	return w.world.Act(ctx, f, a, seen)
}

func (w *refusing) SaveFenceStatus(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	if w.save != nil {
		return nil, w.save
	}
	return w.world.SaveFenceStatus(ctx, f)
}

// run is one invocation, and the error that the record has after it.
func (w *refusing) run(t *testing.T) *api.LastError {
	t.Helper()
	l := w.loop(&RecordCache{}, api.Isolating)
	l.Store, l.Does = w, w
	l.Reporter = unsaid{w: w}
	_, _ = l.Run(t.Context(), "n", event.Event{}, 0)
	return w.record.Status.LastError
}

// unsaid is a reporter that hears only what is not saved.
type unsaid struct {
	deaf
	w *refusing
}

func (u unsaid) Unsaved(_ context.Context, of report.Unsaved) {
	u.w.unsaved = append(u.w.unsaved, of.Function+" "+of.Node+" "+string(of.NodeUID)+": "+of.Err.Error())
}

// TestARecordSaysWhatItRanInto: while a webhook, a quota or an admission policy refuses a write of
// nodefence's, the record says so (S28). It says so twice a minute at most, and no more once the
// action succeeds.
func TestARecordSaysWhatItRanInto(t *testing.T) {
	w := &refusing{world: newWorld(api.Isolating), act: errors.New("admission webhook denied it")}
	at := func(d time.Duration) api.Time { return observed.StampOf(noon.Add(d)) }
	want := &api.LastError{Action: "Isolate", Message: "admission webhook denied it", Since: at(time.Second), At: at(time.Second), Count: 1}
	if d := cmp.Diff(want, w.run(t)); d != "" {
		t.Error("the first time:", d)
	}
	for range 5 {
		w.now = w.now.Add(5 * time.Second)
		w.run(t)
	}
	if d := cmp.Diff(want, w.record.Status.LastError); d != "" {
		t.Error("within half a minute:", d)
	}
	w.now = w.now.Add(5 * time.Second)
	want.At, want.Count = at(31*time.Second), 2
	if d := cmp.Diff(want, w.run(t)); d != "" {
		t.Error("after half a minute:", d)
	}
	if w.record.Status.Phase != api.Isolating {
		t.Errorf("it is in phase %s", w.record.Status.Phase)
	}
	w.act = nil
	if e := w.run(t); e != nil {
		t.Errorf("it has succeeded: %+v", e)
	}
	if len(w.unsaved) > 0 {
		t.Errorf("records were refused: %q", w.unsaved)
	}
}

// TestARecordSaysThatALookFails, and no more after a look that succeeds.
func TestARecordSaysThatALookFails(t *testing.T) {
	w := &refusing{world: newWorld(api.Isolating)}
	w.blind = errors.New("nodes is forbidden")
	stamp := observed.StampOf(w.now)
	if d := cmp.Diff(&api.LastError{Action: api.LookFailed, Message: "look at n: nodes is forbidden", Since: stamp, At: stamp, Count: 1}, w.run(t)); d != "" {
		t.Error(d)
	}
	w.blind = nil
	if e := w.run(t); e != nil {
		t.Errorf("a look has succeeded: %+v", e)
	}
}

// TestARecordThatCannotBeWrittenIsReported elsewhere: it can't say so itself (S28). Somebody who
// wrote first is no refusal.
func TestARecordThatCannotBeWrittenIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		save error
		want []string
	}{
		"refused":              {errors.New("exceeded quota"), []string{"test n node: exceeded quota"}},
		"somebody wrote first": {errConflict, nil},
	} {
		w := &refusing{world: newWorld(api.Isolating), save: c.save}
		w.run(t)
		if d := cmp.Diff(c.want, w.unsaved); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

package loop

import (
	"errors"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// TestAFenceOpensInOneWrite: the status that opens it is saved together with what its first look
// makes of it. It is saved even if that look fails, so that the failure is not forgotten (S19).
// An invocation that loses the race to open it does nothing.
func TestAFenceOpensInOneWrite(t *testing.T) {
	blind := errors.New("the API server does not answer")
	for name, c := range map[string]struct {
		given func(*world)
		want  string
		err   error
		saved int64 // fenceNumber in the store afterwards
	}{
		"with its first look":       {func(*world) {}, "LSL", nil, 2},
		"though its look fails":     {func(w *world) { w.blind = blind }, "LS", blind, 2},
		"somebody else wrote first": {func(w *world) { w.before = (*world).wrote }, "LS", errConflict, 1},
		"nor with a look that failed": {func(w *world) {
			w.blind, w.before = blind, (*world).wrote
		}, "LS", errConflict, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(api.Finished)
			w.stopped = true
			c.given(w)
			f := w.record.DeepCopy()
			before := f.Status
			f.Status = fence.Opening(f, before.Decision, w.now)
			_, err := w.loop(&RecordCache{}, api.Pending).Open(t.Context(), f, before, false, event.Event{}, 0)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%v, want %v", err, c.err)
			}
			if d := cmp.Diff(c.want, w.asked.String()); d != "" || w.record.Status.FenceNumber != c.saved {
				t.Errorf("%s; fence %d, want %d", w.asked.String(), w.record.Status.FenceNumber, c.saved)
			}
			if open := w.record.Open(); open != (c.saved == 2) || open && w.record.Status.OpenedAt == nil {
				t.Errorf("open %v: %+v", open, w.record.Status)
			}
		})
	}
}

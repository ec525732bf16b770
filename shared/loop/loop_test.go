package loop

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/report"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var errConflict = errors.New("somebody else wrote")

// world is a store with one record, a node and a device, and notes what is asked
// of them, a letter each.
type world struct {
	record *api.NodeFence
	asked  strings.Builder
	now    time.Time
	taint  bool
	power  string
	// before is called before each save, so that a test can write first.
	before func(*world)
	// blind is the error of each look.
	blind error
	// stopped says that a brake is on, counted that storm, budgets and quorum were asked again.
	stopped, counted bool
	// reserved is when the fence's slot was reserved.
	reserved *time.Time
	// elapsed goes on by a millisecond each time it is asked; notBefore is what each look was told.
	elapsed   time.Duration
	notBefore []time.Duration
}

func (w *world) Fence(context.Context, string) (*api.NodeFence, error) {
	w.asked.WriteString("G")
	return w.record.DeepCopy(), nil
}

func (w *world) SaveFenceStatus(_ context.Context, f *api.NodeFence) (*api.NodeFence, error) {
	w.asked.WriteString("S")
	if w.before != nil {
		w.before(w)
		w.before = nil
	}
	if f.ResourceVersion != w.record.ResourceVersion {
		return nil, errConflict
	}
	w.record.Status = *f.Status.DeepCopy()
	w.wrote()
	return w.record.DeepCopy(), nil
}

func (w *world) wrote() {
	rv, _ := strconv.Atoi(w.record.ResourceVersion)
	w.record.ResourceVersion = strconv.Itoa(rv + 1)
}

func (w *world) Look(_ context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	w.asked.WriteString("L")
	w.notBefore = append(w.notBefore, notBefore)
	if w.blind != nil {
		return w.blind
	}
	seen.Node = observed.Node{Exists: true, UID: "node", BootID: "a", Taint: w.taint, Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown"}}}
	seen.Brakes.Looked, seen.Brakes.Stopped, seen.Brakes.Counted = true, w.stopped, w.counted
	seen.Reserved = w.reserved
	return nil
}

func (w *world) Act(_ context.Context, _ *api.NodeFence, a fence.Action, _ observed.Look) (r Result, _ error) {
	w.asked.WriteString("(" + string(a) + ")")
	switch {
	case a == fence.Isolate:
		w.taint = true
	case a.Device():
		r.Call = &observed.CallResult{Call: api.Call(a), At: w.now}
		if a == fence.Read {
			r.Call.Power = w.power
		}
	}
	return r, nil
}

// deaf is a reporter that reports nothing.
type deaf struct{ report.Reporter }

func (deaf) Decided(context.Context, report.Decision) {}

func newWorld(p api.Phase) *world {
	at := metav1.NewMicroTime(noon)
	return &world{now: noon.Add(time.Second), power: "On", record: &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "f", ResourceVersion: "1"},
		Spec:       api.NodeFenceSpec{NodeName: "n"},
		Status: api.NodeFenceStatus{
			Decision: api.Decision{NodeUID: "node", Devices: api.Named(api.Binding{Driver: "mem"}),
				ResolvedPolicy: api.ResolvedPolicy{
					Settings: api.Settings{Action: api.ActionReboot, UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
						Power: (*api.Power)(nil).Settings(), PerNode: (*api.PerNode)(nil).Settings()},
				},
			},
			FenceNumber: 1, MinReaderVersion: api.Schema, Phase: p, PhaseSince: &at, DecidedAt: &at,
		},
	}}
}

func (w *world) loop(k *RecordCache, owns ...api.Phase) *Loop {
	return &Loop{
		Function: "test", Owns: owns, Store: w, Does: w, Reporter: deaf{}, Source: events.SourceOf("c"),
		Now: func() time.Time { return w.now }, Elapsed: func() time.Duration { w.elapsed += time.Millisecond; return w.elapsed }, Me: func() string { return "me" }, Conflict: errConflict, Records: k,
	}
}

// TestARecordIsReadOnlyWhereItIsNotKnown: G reads the record, S saves it, L looks.
func TestARecordIsReadOnlyWhereItIsNotKnown(t *testing.T) {
	cut := func(w *world) {
		at := metav1.NewMicroTime(noon)
		w.record.Status.Power.SwitchedByUs, w.record.Status.Power.OffAt = true, &at
		w.record.Status.BootIDBefore = "a"
	}
	for name, c := range map[string]struct {
		phase api.Phase
		given func(w *world, k *RecordCache)
		want  string
	}{
		"what was saved is not read again":               {api.Isolating, nil, "GLS(Isolate)LS"},
		"a conflict has it read again":                   {api.Isolating, func(w *world, _ *RecordCache) { w.before = (*world).wrote }, "GLSGLS(Isolate)LS"},
		"what this process wrote last is not read again": {api.Isolating, func(w *world, k *RecordCache) { k.put(w.record.DeepCopy(), w.now) }, "LS(Isolate)LS"},
		"unless somebody else wrote since": {api.Isolating, func(w *world, k *RecordCache) {
			k.put(w.record.DeepCopy(), w.now)
			w.wrote()
		}, "LSGLS(Isolate)LS"},
		"or it is old": {api.Isolating, func(w *world, k *RecordCache) { k.put(w.record.DeepCopy(), w.now.Add(-keptFor)) }, "GLS(Isolate)LS"},
		"nobody goes away on the word of a record that was kept": {api.Isolating, func(w *world, k *RecordCache) {
			old := w.record.DeepCopy()
			old.Status.Phase = api.Fencing
			k.put(old, w.now)
		}, "GLS(Isolate)LS"},
		"nor leaves a call alone that may have ended since": {api.Fencing, func(w *world, k *RecordCache) {
			cut(w)
			old := w.record.DeepCopy()
			old.Status.Claim = &api.Claim{Holder: "another", Device: "power-1", Call: api.CallRead, NotAfter: metav1.NewMicroTime(w.now.Add(time.Minute))}
			k.put(old, w.now)
		}, "LGLS(Read)LS"},
	} {
		t.Run(name, func(t *testing.T) {
			w, k := newWorld(c.phase), &RecordCache{}
			if c.given != nil {
				c.given(w, k)
			}
			if _, err := w.loop(k, c.phase).Run(t.Context(), "n", event.Event{}, 0); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, w.asked.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

package loop

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatIsHandedOver: the claim of the Off is saved with what was read, and the next invocation
// makes the call at once. It is made once, by power (S7, S8). One that has waited is decided on
// anew, and a brake that was pulled meanwhile stops it (S25). G reads the record, S saves it, L
// looks.
func TestWhatIsHandedOver(t *testing.T) {
	for name, c := range map[string]struct {
		// meanwhile is what happens before the events come that the test has sent.
		meanwhile func(w *world)
		// comes are the phases of the functions to which they come.
		comes []api.Phase
		want  string
	}{
		"the Off":                            {nil, []api.Phase{api.Fencing}, "(Off)LS"},
		"to one invocation alone":            {nil, []api.Phase{api.Fencing, api.Pending, api.Fencing}, "(Off)LSG(Read)LS"},
		"not to another function":            {nil, []api.Phase{api.Recovering}, "G"},
		"one that waited is decided on anew": {func(w *world) { w.elapsed += handedFor }, []api.Phase{api.Fencing}, "LS(Off)LS"},
		"and not sent against a brake":       {func(w *world) { w.elapsed += handedFor; w.stopped = true }, []api.Phase{api.Fencing, api.Fencing}, "LSGL"},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := newWorld(api.Fencing), &Handoff{}
			w.counted = true
			invoked := 0
			run := func(p api.Phase) *event.Event {
				l := w.loop(&RecordCache{}, p)
				invoked++
				l.Handoff, l.Me = h, func() string { return strconv.Itoa(invoked) }
				e, err := l.Run(t.Context(), "n", event.New(), 0)
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if e := run(api.Fencing); e == nil || w.asked.String() != "GLS(Read)LS" {
				t.Fatalf("%s, and %v comes", &w.asked, e)
			}
			if c := w.record.Status.Claim; c == nil || c.Call != api.CallOff {
				t.Fatalf("claimed is %v", c)
			}
			w.asked.Reset()
			if c.meanwhile != nil {
				c.meanwhile(w)
			}
			for _, p := range c.comes {
				run(p)
			}
			if d := cmp.Diff(c.want, w.asked.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMarksAreHandedOver: the gate writes down what was on the node before, and isolate places the
// marks at once (S22).
func TestMarksAreHandedOver(t *testing.T) {
	w, h := newWorld(api.Pending), &Handoff{}
	at := metav1.NewMicroTime(w.now)
	w.reserved = &at.Time
	for _, p := range []api.Phase{api.Pending, api.Isolating} {
		l := w.loop(&RecordCache{}, p)
		l.Handoff = h
		if e, err := l.Run(t.Context(), "n", event.New(), 0); err != nil || e == nil {
			t.Fatal(e, err)
		}
		if !w.record.Status.Placed.Taint {
			t.Errorf("not written down: %+v", w.record.Status.Placed)
		}
	}
	if d := cmp.Diff("GLS(Isolate)LS", w.asked.String()); d != "" {
		t.Error(d)
	}
	if c := w.record.Status.Claim; c == nil || c.Call != api.CallRead || w.record.Status.Phase != api.Fencing {
		t.Errorf("%s, claimed is %v", w.record.Status.Phase, c)
	}
}

// TestWhatIsLeftInHandIsForgotten, as soon as another action is handed over.
func TestWhatIsLeftInHandIsForgotten(t *testing.T) {
	h := &Handoff{}
	for i, node := range []string{"a", "b"} {
		f := newWorld(api.Fencing).record
		f.Spec.NodeName = node
		h.put(&handed{fence: f, at: time.Duration(i) * (forgottenAfter + 1)})
	}
	if len(h.actions) != 1 {
		t.Errorf("it has %d", len(h.actions))
	}
}

// sighted is a world that keeps what each look begins with.
type sighted struct {
	*world
	begins []observed.Look
}

func (w *sighted) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	w.begins = append(w.begins, *seen)
	return w.world.Look(ctx, f, seen, notBefore)
}

// TestWhatWasSeenIsHandedOver: the invocation that carries an action out goes on with what the actions before it
// have seen. A yes of the gate is not handed over: it is asked for again.
func TestWhatWasSeenIsHandedOver(t *testing.T) {
	w, h := &sighted{world: newWorld(api.Isolating)}, &Handoff{}
	call := &observed.CallResult{Call: api.CallRead, At: noon}
	h.put(&handed{fence: w.record.DeepCopy(), me: "me", action: fence.Isolate, seen: observed.Look{Resolved: true, Call: call, MayDrain: true}})
	l := w.loop(nil, api.Isolating)
	l.Handoff, l.Does = h, w
	if _, err := l.Run(t.Context(), "n", event.New(), 0); err != nil {
		t.Fatal(err)
	}
	if len(w.begins) == 0 || !w.begins[0].Resolved || w.begins[0].Call != call || w.begins[0].MayDrain {
		t.Errorf("%+v", w.begins)
	}
}

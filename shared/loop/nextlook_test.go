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
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestANextLookThatStands: it is not written anew where it wakes somebody within a resync (S19).
func TestANextLookThatStands(t *testing.T) {
	const never = -time.Hour
	for name, c := range map[string]struct {
		act           fence.Action
		before, after time.Duration
		want          bool
	}{
		"an action, put off a little":             {fence.Undo, 9 * time.Second, 10 * time.Second, true},
		"an action, and it is about to come":      {fence.Undo, time.Second, 10 * time.Second, false},
		"an action, and none is there":            {fence.Undo, never, 10 * time.Second, false},
		"an action, and it is to come sooner":     {fence.Undo, 9 * time.Second, 5 * time.Second, false},
		"a slot, put off a little":                {fence.Reserve, 9 * time.Second, 10 * time.Second, true},
		"a slot, and it comes later":              {fence.Reserve, 20 * time.Second, 10 * time.Second, false},
		"a slot, and it is over":                  {fence.Reserve, -time.Second, 10 * time.Second, false},
		"a drain, and it comes later":             {fence.AskDrain, 20 * time.Second, 10 * time.Second, false},
		"to resolve, and it comes later":          {fence.Resolve, 20 * time.Second, 10 * time.Second, true},
		"to resolve, and it comes within resync":  {fence.Resolve, facts.Resync, 10 * time.Second, true},
		"to resolve, and it comes after a resync": {fence.Resolve, facts.Resync + 1, 10 * time.Second, false},
		"to resolve, and it is over":              {fence.Resolve, -time.Second, 10 * time.Second, true},
		"to resolve, and none is there":           {fence.Resolve, never, 10 * time.Second, false},
		"a wait, and most of it is left":          {fence.None, 10 * time.Second, 20 * time.Second, true},
		"a wait, and little of it is left":        {fence.None, 9 * time.Second, 20 * time.Second, false},
		"a wait that is about to end":             {fence.None, time.Second, 2 * time.Second, false},
		"a wait that ends sooner":                 {fence.None, 20 * time.Second, 19 * time.Second, false},
		"a wait that is over":                     {fence.None, -time.Second, 20 * time.Second, false},
	} {
		at := func(d time.Duration) (st api.NodeFenceStatus) {
			if d != never {
				m := metav1.NewMicroTime(noon.Add(d))
				st.NextLook = &m
			}
			return st
		}
		before, after := at(c.before), at(c.after)
		if got := onlyNextLookDiffers(before, after, c.act, noon); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if after.Retries = 1; onlyNextLookDiffers(before, after, c.act, noon) {
			t.Errorf("%s: something else is new, and is not saved", name)
		}
	}
}

// TestARefusalThatIsNoNewsIsNotSaved: a fence that is refused a slot as before writes nothing as long as
// its next look is to come, and one write where it is over. Before it asks for a slot that was free, its
// record says who looks soon if it dies.
func TestARefusalThatIsNoNewsIsNotSaved(t *testing.T) {
	for name, c := range map[string]struct {
		left time.Duration
		// read: the caller has read the record for this event.
		read bool
		// gone: a slot was free, and another fence was faster.
		gone bool
		want string
	}{
		"woken before its time":          {15 * time.Second, true, false, "L(Resolve)L"},
		"and a record that was kept":     {15 * time.Second, false, false, "LGL(Resolve)L"},
		"and a slot is gone again":       {15 * time.Second, true, true, "L(Resolve)LS(Reserve)L"},
		"at its time":                    {0, true, false, "L(Resolve)LS"},
		"at its time, and it is gone":    {0, true, true, "L(Resolve)LS(Reserve)L"},
		"shortly before it":              {5 * time.Second, true, false, "L(Resolve)LS"},
		"after a resync, which is wrong": {time.Minute, true, false, "LS(Resolve)L"},
	} {
		w, k := &full{newWorld(api.Pending), c.gone}, &RecordCache{}
		l := w.loop(k, api.Pending)
		l.Does = w
		w.record.Status.DecidedAt = nil
		run := func() {
			w.asked.Reset()
			if _, err := l.Run(t.Context(), "n", event.New(), 0); err != nil {
				t.Fatal(name, err)
			}
		}
		run() // the first refusal is news
		at := metav1.NewMicroTime(w.now.Add(c.left))
		w.record.Status.NextLook = &at
		k.put(w.record.DeepCopy(), w.now)
		if c.read {
			w.asked.Reset()
			if _, err := l.GoOn(t.Context(), w.record.DeepCopy(), event.New(), 0); err != nil {
				t.Fatal(name, err)
			}
		} else {
			run()
		}
		if d := cmp.Diff(c.want, w.asked.String()); d != "" {
			t.Errorf("%s: %s (%s) %s", name, w.record.Status.Phase, w.record.Status.Reason, d)
		}
		if next := w.record.Status.NextLook; next == nil || next.Sub(w.now) > facts.Resync {
			t.Errorf("%s: nobody looks within a resync, but at %v", name, next)
		}
	}
}

// full is a world with no free slot. gone: one seems to be free until it is asked for.
type full struct {
	*world
	gone bool
}

func (w *full) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error) {
	r, err := w.world.Act(ctx, f, a, seen)
	refused := a == fence.Reserve || a == fence.Resolve && !w.gone && f.Status.Reason == api.TooManyConcurrent
	if refused {
		r.Verdict = &observed.Verdict{Reason: api.TooManyConcurrent, Message: "2 fences are running", Again: 20 * time.Second}
	}
	r.Resolved = a == fence.Resolve && !refused
	return r, err
}

package due

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAWakeUpThatIsNotUsedIsPassedOn: a slot that got free wakes two fences. Whoever of them fails, or is
// healthy again, has the next one woken, so that the slot does not stand free until somebody looks by
// itself. Whoever takes the slot, waits on, is over, or was not woken for it wakes nobody.
func TestAWakeUpThatIsNotUsedIsPassedOn(t *testing.T) {
	phase := func(p api.Phase) func(*api.NodeFence) { return func(f *api.NodeFence) { f.Status.Phase = p } }
	for name, c := range map[string]struct {
		becomes func(*api.NodeFence)
		// at is when it is told, and the slot got free at 10; taken: the wake-ups were sent by then.
		at    float64
		taken bool
		want  []string
	}{
		"it has failed":                    {phase(api.Failed), 10.5, true, []string{"third"}},
		"it has failed before it was sent": {phase(api.Failed), 10, false, []string{"second", "third"}},
		"it has failed, and long after":    {phase(api.Failed), 12, true, nil},
		"its node is healthy":              {phase(api.Recovering), 10.5, true, []string{"third"}},
		"it takes the slot":                {phase(api.Isolating), 10.5, true, nil},
		"it reads its machine first":       {phase(api.Probing), 10.5, true, nil},
		"it drains its node first":         {phase(api.Draining), 10.5, true, nil},
		"it is refused":                    {pending, 10.5, true, nil},
		"something else holds it":          {holdsIt, 10.5, true, []string{"third"}},
		"it is over":                       {finished, 10.5, true, nil},
	} {
		d := newDueList(time.Hour, unlabelled)
		first := waitsSince("first", 1)
		for _, f := range []*api.NodeFence{first, waitsSince("second", 2), waitsSince("third", 3), waitsSince("fourth", 4)} {
			d.note(f, sec(0))
		}
		freed := fenceOf("1")
		freed.Status.Phase = api.Releasing
		counted := make(chan struct{})
		d.wakeNext(freed, counted, sec(10))
		if c.taken {
			d.take(sec(10))
		}
		is := first.DeepCopy()
		is.ResourceVersion, is.Status.NextLook = "2", &api.Time{Time: sec(3000)}
		c.becomes(is)
		d.note(is, sec(c.at))
		var got []string
		for _, w := range d.take(sec(c.at)) {
			if w.counted != counted {
				t.Errorf("%s: %s does not wait for the census that has the free slot", name, w.fence.Spec.NodeName)
			}
			got = append(got, w.fence.Spec.NodeName)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// holdsIt: no slot is asked for until its device may be read.
func holdsIt(f *api.NodeFence) { f.Status.Phase, f.Status.WaitsFor = api.Pending, "" }

// TestAWakeUpThatIsPassedOnIsNotSentBeforeItsCensus: also to one that is to be looked at soon for another
// reason.
func TestAWakeUpThatIsPassedOnIsNotSentBeforeItsCensus(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	for i, node := range []string{"first", "second", "third"} {
		d.note(waitsSince(node, float64(i)), sec(0))
	}
	freed := fenceOf("1")
	freed.Status.Phase = api.Releasing
	counted := make(chan struct{})
	d.wakeNext(freed, counted, sec(10))
	d.take(sec(10))
	d.wakeAll(func(f *api.NodeFence) bool { return f.Spec.NodeName == "third" }, nil, sec(10.1))
	failed := waitsSince("first", 0)
	failed.ResourceVersion, failed.Status.Phase = "2", api.Failed
	d.note(failed, sec(10.2))
	for _, w := range d.take(sec(10.2)) {
		if w.fence.Spec.NodeName != "third" || w.counted != counted {
			t.Errorf("%s is woken, and waits for its census: %v", w.fence.Spec.NodeName, w.counted == counted)
		}
	}
}

// waitsSince is a fence that waits for a slot.
func waitsSince(node string, opened float64) *api.NodeFence {
	f := fenceOf("1", check(3000), pending)
	at := metav1.NewMicroTime(sec(opened))
	f.Spec.NodeName, f.Status.WaitsFor, f.Status.OpenedAt = node, api.WaitsForSlot, &at
	return f
}

// TestAWakeUpThatIsPassedOnHastensNoOther: one that waits for the census that has another free slot still
// does.
func TestAWakeUpThatIsPassedOnHastensNoOther(t *testing.T) {
	d := newDueList(time.Hour, unlabelled)
	for i, node := range []string{"first", "second", "third", "fourth"} {
		d.note(waitsSince(node, float64(i)), sec(0))
	}
	freed := fenceOf("1")
	freed.Status.Phase = api.Releasing
	d.wakeNext(freed, make(chan struct{}), sec(10))
	d.take(sec(10))
	counted := make(chan struct{})
	d.wakeNext(freed, counted, sec(10.2))
	d.drop("second")
	failed := waitsSince("first", 0)
	failed.ResourceVersion, failed.Status.Phase = "2", api.Failed
	d.note(failed, sec(10.3))
	woken := d.take(sec(10.3))
	for _, w := range woken {
		if w.counted != counted {
			t.Errorf("%s does not wait for the census", w.fence.Spec.NodeName)
		}
	}
	if len(woken) != 2 {
		t.Errorf("%d are woken", len(woken))
	}
}

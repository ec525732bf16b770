package act

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestShown: a person who agreed is asked again if another fence is open, or if what they agreed to
// would do something else now. Where the fence stands may change, and a brake is never held up.
func TestShown(t *testing.T) {
	approve := func(f *api.NodeFence) (Change, error) { return Approve(f, ann) }
	abort := func(f *api.NodeFence) (Change, error) { return Abort(f, ann) }
	retry := func(f *api.NodeFence) (Change, error) { return Retry(f, ann) }
	waits := fence(api.Pending, api.WaitingForApproval)
	for name, tc := range map[string]struct {
		build   func(*api.NodeFence) (Change, error)
		a, b    *api.NodeFence
		changed bool
	}{
		"another message":      {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Message = "later" }), false},
		"another fence":        {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.FenceNumber++ }), true},
		"another fence, abort": {abort, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.FenceNumber++ }), true},
		"another action":       {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Decision.Settings.Action = api.ActionOff }), true},
		"cut meanwhile":        {abort, waits, fence(api.Fencing, api.PowerOffSent, func(st *api.NodeFenceStatus) { st.CutOrReleased = true }), false},
		"read, or cut again":   {retry, fence(api.Fencing, api.WaitingForDevice), fence(api.Failed, api.DeviceFailed), true},
	} {
		a, err := tc.build(tc.a)
		b, err2 := tc.build(tc.b)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v; %v", name, err, err2)
		}
		if changed := a.Shown() != b.Shown(); changed != tc.changed {
			t.Errorf("%s: changed is %v", name, changed)
		}
	}
	l := &api.FenceLedger{Spec: api.FenceLedgerSpec{Stop: true, StopReason: "switches"}}
	other := l.DeepCopy()
	other.Spec.StopReason = "a fire"
	start, _ := Start(l)
	if now, _ := Start(other); now.Shown() == start.Shown() {
		t.Error("it was stopped for another reason than the person was shown")
	}
	p := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	worse := p.DeepCopy()
	worse.Status.OpenFences = 1
	pause, _ := Pause(p, "bob")
	if now, _ := Pause(worse, "bob"); now.Shown() != pause.Shown() {
		t.Error("a pause is held up because more fences are open")
	}
	if start.NamedBy(ann, ann.At.Time).Shown() != start.Shown() {
		t.Error("a start is held up because its time is another one")
	}
}

// TestABrakeIsNamed: who changes a brake stands beside it, with the time and the reason. An earlier reason does not
// stay, and no change is without the name.
func TestABrakeIsNamed(t *testing.T) {
	at := ann.At.Add(1234567 * time.Nanosecond)
	nobody, quiet := ann, ann
	nobody.Name, quiet.Reason = "", ""
	l := &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster", UID: "u", ResourceVersion: "7"}}
	stop, _ := Stop(l, "switches")
	l.Spec.Stop = true
	start, _ := Start(l)
	pause, _ := Pause(&api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers", UID: "u", ResourceVersion: "7"}}, "upgrade")
	abort, _ := Abort(fence(api.Pending, api.WaitingForApproval), ann)
	const word = `Changed":{"at":"2026-01-01T12:00:00.001234Z","by":"ann","reason":`
	for name, c := range map[string]struct {
		change Change
		by     Person
		want   string
	}{
		"a stop has its reason already": {stop, ann, `"spec":{"stop":true,"stop` + word + `null},"stopReason":"switches"}}`},
		"a start":                       {start, ann, `"spec":{"stop":false,"stop` + word + `"seen dark"},"stopReason":null}}`},
		"a pause":                       {pause, ann, `"spec":{"pause` + word + `"seen dark"},"pauseRequests":["upgrade"]}}`},
		"a pause without a reason":      {pause, quiet, `"spec":{"pause` + word + `null},"pauseRequests":["upgrade"]}}`},
		"nobody":                        {pause, nobody, `"spec":{"pauseRequests":["upgrade"]}}`},
	} {
		before := patch(t, c.change)
		named := c.change.NamedBy(c.by, at)
		if got := patch(t, named); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
		if bare, was := named.Unnamed(); patch(t, bare) != before || was != (c.by.Name != "") || patch(t, c.change) != before {
			t.Errorf("%s: without the name it is %s", name, patch(t, bare))
		}
	}
	if is := abort.NamedBy(ann, at); patch(t, is) != patch(t, abort) || is.IsBrake() || !stop.IsBrake() {
		t.Error("a request to a fence is no brake")
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// minute is a moment in the tests' hour.
func minute(m float64) time.Time { return time.Unix(0, 0).Add(time.Duration(m * float64(time.Minute))) }

// said is one command to a BMC.
func said(m float64, word string) rig.Command { return rig.Command{Time: minute(m), Command: word} }

// TestJudgeOfOneMachine: what a BMC was told is held against the fences of its node.
func TestJudgeOfOneMachine(t *testing.T) {
	fence := window{node: "n", number: 1, opened: minute(10), closed: minute(12), outcome: "Recovered", cuts: 1}
	spared := window{node: "n", number: 2, opened: minute(20), closed: minute(21), outcome: "HealedBeforeFence"}
	open := window{node: "n", number: 3, opened: minute(30), cuts: 1}
	hung := []span{{minute(9), minute(11)}}
	for name, c := range map[string]struct {
		told    []rig.Command
		spoiled []span
		alive   []span
		wrong   string
	}{
		"off and on":                            {told: []rig.Command{said(10.5, "off"), said(11, "on")}},
		"nothing, as it was off already":        {},
		"both, a little beside the clock":       {told: []rig.Command{said(9.95, "off"), said(12.05, "on")}},
		"off, and no fence":                     {told: []rig.Command{said(15, "off"), said(15, "on")}, wrong: "no fence of it was open"},
		"on, and no fence":                      {told: []rig.Command{said(9, "on")}, wrong: "no fence of it was open"},
		"off in a fence that cut nothing":       {told: []rig.Command{said(20.5, "off"), said(20.6, "on")}, wrong: "made no cut"},
		"two offs for a cut":                    {told: []rig.Command{said(10.5, "off"), said(10.6, "off"), said(11, "on")}, wrong: "each cut is one off"},
		"two offs, as the BMC hung":             {told: []rig.Command{said(10.5, "off"), said(10.6, "off"), said(11, "on")}, spoiled: hung},
		"two ons":                               {told: []rig.Command{said(10.5, "off"), said(11, "on"), said(11.1, "on")}, wrong: "each off is followed by one on"},
		"two ons, as the BMC hung":              {told: []rig.Command{said(10.5, "off"), said(11, "on"), said(11.1, "on")}, spoiled: hung},
		"it hung, but at another fence":         {told: []rig.Command{said(10.5, "off"), said(10.6, "off"), said(11, "on")}, spoiled: []span{{minute(20), minute(21)}}, wrong: "each cut is one off"},
		"left off":                              {told: []rig.Command{said(10.5, "off")}, wrong: "switched the machine on again"},
		"left off, as the BMC hung":             {told: []rig.Command{said(10.5, "off")}, spoiled: hung, wrong: "switched the machine on again"},
		"off, and the fence is not at its end":  {told: []rig.Command{said(31, "off")}},
		"reset":                                 {told: []rig.Command{said(10.5, "reset")}, wrong: "told reset"},
		"off of a machine that was alive":       {told: []rig.Command{said(10.5, "off"), said(11, "on")}, alive: []span{{minute(10), minute(11)}}, wrong: "only its Lease stood still"},
		"off of a machine that was alive after": {told: []rig.Command{said(10.5, "off"), said(11, "on")}, alive: []span{{minute(12), minute(13)}}},
	} {
		err := witness{node: "n", told: c.told, fences: []window{fence, spared, open}, spoiled: c.spoiled, alive: c.alive}.judge()
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// TestUnwellNode: a node is well if it is Ready, and nothing of ours is left on it.
func TestUnwellNode(t *testing.T) {
	ready := func(is corev1.ConditionStatus) corev1.NodeStatus {
		return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: is}}}
	}
	taint := func(key string) corev1.NodeSpec { return corev1.NodeSpec{Taints: []corev1.Taint{{Key: key}}} }
	marked := metav1.ObjectMeta{Annotations: map[string]string{api.ScaleDownDisabled: "true"}}
	for want, n := range map[string]corev1.Node{
		"":                                       {Spec: taint("example.com/other"), Status: ready(corev1.ConditionTrue)},
		"it is Ready=Unknown":                    {Status: ready(corev1.ConditionUnknown)},
		"it has no Ready condition":              {},
		"it is cordoned":                         {Spec: corev1.NodeSpec{Unschedulable: true}, Status: ready(corev1.ConditionTrue)},
		"it has the taint nodefence.io/isolated": {Spec: taint(api.IsolationTaint), Status: ready(corev1.ConditionTrue)},
		"it has the taint node.kubernetes.io/out-of-service":                         {Spec: taint(api.OutOfServiceTaint), Status: ready(corev1.ConditionTrue)},
		"it has the annotation cluster-autoscaler.kubernetes.io/scale-down-disabled": {ObjectMeta: marked, Status: ready(corev1.ConditionTrue)},
	} {
		if got := unwellNode(&n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTooManySlots: more fences between the yes and the release than allowed are a breach, and as
// many as allowed are counted.
func TestTooManySlots(t *testing.T) {
	in := func(node string, phase api.Phase) api.NodeFence {
		f := api.NodeFence{}
		f.Name, f.Status.FenceNumber, f.Status.Phase = node, 1, phase
		return f
	}
	all := []api.NodeFence{in("a", api.Fencing), in("b", api.Pending), in("c", api.PoweringOn), in("d", api.Releasing)}
	for concurrent, want := range map[int]string{1: "2 fences were between the yes and the release at once, of a, d; maxConcurrent allows 1", 2: "", 3: ""} {
		w := newWatch(nil, concurrent)
		w.fences = map[string]*api.NodeFence{}
		err := w.note(all)
		if (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("%d allowed: %v, want %q", concurrent, err, want)
		}
		if _, slots, full, _ := w.waits(); slots != 2 || (full == 1) != (concurrent == 2) {
			t.Errorf("%d allowed: %d slots, full %d times", concurrent, slots, full)
		}
	}
}

// TestWindows: a record tells of its fence, and of those before it.
func TestWindows(t *testing.T) {
	stamp := func(m float64) api.Time { return metav1.NewMicroTime(minute(m)) }
	f := api.NodeFence{}
	f.Name = "n"
	opened, since := stamp(10), stamp(12)
	f.Status = api.NodeFenceStatus{
		FenceNumber: 2, OpenedAt: &opened, PhaseSince: &since, Phase: api.Fencing,
		Past: []api.PastFence{{FenceNumber: 1, OpenedAt: stamp(1), ClosedAt: stamp(2), Outcome: api.Recovered, Cuts: 1}},
	}
	f.Status.Power.Cuts = 1
	past := window{"n", 1, minute(1), minute(2), api.Recovered, 1}
	if got, want := windowsOf(&f), []window{past, {node: "n", number: 2, opened: minute(10), cuts: 1}}; !sameWindows(got, want) {
		t.Errorf("open: %+v, want %+v", got, want)
	}
	f.Status.Phase, f.Status.Outcome = api.Finished, api.Recovered
	if got, want := windowsOf(&f), []window{past, {"n", 2, minute(10), minute(12), api.Recovered, 1}}; !sameWindows(got, want) {
		t.Errorf("closed: %+v, want %+v", got, want)
	}
}

// sameWindows compares the moments, and not how they are written.
func sameWindows(a, b []window) bool {
	return slices.EqualFunc(a, b, func(a, b window) bool {
		same := a.opened.Equal(b.opened) && a.closed.Equal(b.closed)
		a.opened, a.closed, b.opened, b.closed = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return same && a == b
	})
}

package act

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheLastCutOfADay leaves a machine off: who approves a fence or asks for one is told.
func TestTheLastCutOfADay(t *testing.T) {
	at := func(ago time.Duration) api.Time { return metav1.NewMicroTime(ann.At.Add(-ago)) }
	closed := func(cuts int32, ago time.Duration) *api.NodeFence {
		since := at(ago)
		return fence(api.Finished, api.Recovered, func(st *api.NodeFenceStatus) {
			st.OpenedAt, st.PhaseSince, st.Power.Cuts, st.Power.CutAt = &since, &since, cuts, &since
		})
	}
	past := func(ago time.Duration) *api.NodeFence {
		return fence(api.Finished, api.Recovered, func(st *api.NodeFenceStatus) {
			st.Past = []api.PastFence{{Cuts: 2, ClosedAt: at(ago)}}
		})
	}
	const counted = "limits.perNode.cutsPerDay is "
	for name, tc := range map[string]struct {
		limit  api.PerNodeSettings
		record *api.NodeFence
		off    bool
		want   string
	}{
		"the first of one":          {api.PerNodeSettings{CutsPerDay: 1, OnLast: api.OnLastLeaveOff}, nil, false, counted + "1"},
		"the first of one, held":    {api.PerNodeSettings{CutsPerDay: 1, OnLast: api.OnLastHold}, nil, false, ""},
		"the first of two":          {api.PerNodeSettings{CutsPerDay: 2}, nil, false, ""},
		"the second of two":         {api.PerNodeSettings{CutsPerDay: 2}, closed(1, time.Hour), false, counted + "2"},
		"the first was yesterday":   {api.PerNodeSettings{CutsPerDay: 2}, closed(1, 25*time.Hour), false, ""},
		"two in earlier fences":     {api.PerNodeSettings{CutsPerDay: 3}, past(time.Hour), false, counted + "3"},
		"two fences before a day":   {api.PerNodeSettings{CutsPerDay: 3}, past(25 * time.Hour), false, ""},
		"no method switches it on ": {api.PerNodeSettings{CutsPerDay: 3}, nil, true, "no method that switches it on"},
	} {
		d := drillable()
		d.Fence, d.Policy.Settings.PerNode = tc.record, tc.limit
		d.Target.Status.Binding = &api.TargetBinding{Devices: []api.Binding{{Driver: "ipmi", Address: "192.0.2.7", Role: api.RolePower, LeaveOff: tc.off}}}
		f := fence(api.Pending, api.WaitingForApproval)
		if tc.record != nil { // what opening a fence makes of it
			f.Status.Past = tc.record.Status.Past
			if st := &tc.record.Status; st.OpenedAt != nil {
				f.Status.Past = append(f.Status.Past, api.PastFence{Cuts: st.Power.Cuts, ClosedAt: *st.PhaseSince})
			}
		}
		f.Status.Decision.Settings.PerNode, f.Status.Decision.Devices = tc.limit, d.Target.Status.Binding.Devices
		c, err := Approve(f, ann)
		_, asked, err2 := Ask("a1", "ns", ann, d.Policy, observed.Node{}, d.Target, tc.record)
		for what, words := range map[string]string{"approve": c.Words(), "ask": strings.Join(asked, "\n")} {
			if on := strings.Contains(words, "switched on again"); err != nil || err2 != nil || on != (tc.want == "") || !strings.Contains(words, tc.want) {
				t.Errorf("%s, %s: %v, %v: %s", what, name, err, err2, words)
			}
		}
	}
}

// TestADeviceOfWhichOnlyTheNameIsKnown: whether its machine is switched on again, and whether it deletes
// a Machine, is plan's to say.
func TestADeviceOfWhichOnlyTheNameIsKnown(t *testing.T) {
	const unsure = "- its machine is switched on again if its configuration has a method for that, and the node is given back once it is healthy\n" +
		"Not all is known here of its devices: kubectl fence plan a1 says what each does, and what of that can't be undone."
	refused := api.TargetBinding{Refused: "no address"}
	for name, of := range map[string]func(*Drilled){
		"no binding is kept":   func(*Drilled) {},
		"nothing was bound":    func(d *Drilled) { d.Target.Status.Binding = &refused },
		"nothing is known yet": func(d *Drilled) { d.Target = nil },
	} {
		d := drillable()
		of(&d)
		if _, says, err := Ask("a1", "ns", ann, d.Policy, observed.Node{}, d.Target, nil); err != nil || !strings.HasSuffix(strings.Join(says, "\n"), unsure) {
			t.Errorf("%s: %v: %s", name, err, strings.Join(says, "\n"))
		}
	}
	d := drillable()
	d.Policy.Settings.Action = api.ActionIsolate
	if _, says, err := Ask("a1", "ns", ann, d.Policy, observed.Node{}, d.Target, nil); err != nil || strings.Contains(strings.Join(says, "\n"), "Not all is known") {
		t.Errorf("no device is touched: %v: %v", err, says)
	}
}

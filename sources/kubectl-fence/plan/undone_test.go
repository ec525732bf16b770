package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatCantBeUndone is said: a Machine or a Node that is deleted, and a cut that only a person gives
// back.
func TestWhatCantBeUndone(t *testing.T) {
	const deleted = "device machine machine:aws:///x/i-1: Off, if the machine reads on: it deletes the Machine object, with which the instance is deleted too"
	const gone = "nothing switches the machine on again: the owner of its Machine makes another one in its place"
	ipmi := api.Binding{Driver: "ipmi", Address: "192.0.2.7:623", Role: api.RolePower}
	machine := api.Binding{Driver: api.DriverMachine, Address: "machine:aws:///x/i-1", Role: api.RolePower}
	both := api.Binding{Driver: "set", Address: "two", Role: api.RolePower, Members: []api.SetMember{{Driver: "ipmi"}, {Driver: api.DriverMachine}}}
	port := api.Binding{Driver: "snmp", Address: "192.0.2.8", Role: api.RoleNetwork, LeaveOff: true}
	for name, tc := range map[string]struct {
		action  api.FenceAction
		deletes bool
		devices []api.Binding
		off     string
		want    []string
		not     string
	}{
		"a Machine":          {api.ActionReboot, false, []api.Binding{machine}, "no method", []string{deleted, gone}, "stays off"},
		"one of a set":       {api.ActionOff, false, []api.Binding{both}, "no method", []string{": it deletes the Machine object, with which the instance", gone}, "stays off"},
		"a Machine at last":  {api.ActionOff, false, []api.Binding{ipmi, machine}, "the policy's action is PowerOff", []string{"level 2, device machine machine:aws:///x/i-1: it deletes the Machine object", "the machine stays off, because the policy's action is PowerOff; when somebody"}, gone},
		"a Machine, read":    {api.ActionWaitForOff, false, []api.Binding{machine}, "the policy's action is WaitForOff", []string{"nothing is switched"}, "deletes"},
		"a Node":             {api.ActionOff, true, []api.Binding{ipmi}, "the policy's action is PowerOff", []string{"API server: delete the Node object, once nothing is left on it (release.deleteNode)\nthe machine stays off, because the policy's action is PowerOff\n"}, "when somebody"},
		"neither":            {api.ActionReboot, false, []api.Binding{ipmi}, "", []string{"ipmi 192.0.2.7:623: On, if it was nodefence"}, "delete the Node"},
		"a cut of a network": {api.ActionReboot, false, []api.Binding{ipmi, port}, "", []string{"device snmp 192.0.2.8: a person gives back what it has cut off"}, "snmp 192.0.2.8: On"},
	} {
		dec := &api.Decision{Devices: tc.devices}
		dec.Settings.Action, dec.Settings.Power.MaxLevels, dec.Settings.Release.DeleteNode = tc.action, 4, tc.deletes
		got := strings.Join(calls(dec, tc.off), "\n") + "\n"
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\nwant %s", name, got, want)
			}
		}
		if strings.Contains(got, tc.not) {
			t.Errorf("%s: %s\nnot %s", name, got, tc.not)
		}
	}
}

// TestTheSettleIsTheDevices: two reads that prove a machine off are as far apart as its device needs.
func TestTheSettleIsTheDevices(t *testing.T) {
	second := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	for name, tc := range map[string]struct {
		action api.FenceAction
		lead   *metav1.Duration
		want   string
	}{
		"none is given":          {api.ActionOff, nil, "reads off twice, at least 5s apart"},
		"its method gives one":   {api.ActionOff, second(8), "reads off twice, at least 8s apart"},
		"no lead at all":         {api.ActionOff, second(0), "reads off twice, at least 2s apart"},
		"others switch it off":   {api.ActionWaitForOff, second(8), "once more, at least 8s later"},
		"others, and a long one": {api.ActionWaitForOff, second(300), "once more, at least 20s later"},
	} {
		dec := &api.Decision{Devices: []api.Binding{{Driver: "ipmi", Address: "192.0.2.7:623", Role: api.RolePower, Lead: tc.lead}}}
		dec.Settings.Action, dec.Settings.Power.MaxLevels = tc.action, 4
		if got := strings.Join(calls(dec, ""), "\n"); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s\nwant %s", name, got, tc.want)
		}
	}
}

package act

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatCantBeUndone is said before a person agrees: what is cut off, and which objects are deleted.
func TestWhatCantBeUndone(t *testing.T) {
	ipmi := api.Binding{Driver: "ipmi", Address: "192.0.2.7", Role: api.RolePower}
	machine := api.Binding{Driver: api.DriverMachine, Address: "machine:aws:///x/i-1", Role: api.RolePower, LeaveOff: true}
	both := api.Binding{Driver: "set", Address: "two", Role: api.RolePower, LeaveOff: true, Members: []api.SetMember{{Driver: "ipmi"}, {Driver: api.DriverMachine}}}
	lun := api.Binding{Driver: "networkfence", Address: "csi", Role: api.RoleStorage, Must: true}
	port := api.Binding{Driver: "snmp", Address: "192.0.2.8", Role: api.RoleNetwork, LeaveOff: true}
	const tainted = "- the node is tainted and cordoned\n"
	const released = "- its pods and volumes are released to start elsewhere\n"
	const replaced = "- nothing switches it on again: the owner of its Machine makes another one in its place\n"
	const back = "the node is given back once it is healthy\n"
	with := func(action api.FenceAction, devices ...api.Binding) api.Decision {
		d := api.Decision{Devices: devices}
		d.Settings.Action, d.Settings.Power.MaxLevels, d.Settings.PerNode.CutsPerDay = action, 2, 3
		return d
	}
	changed := func(d api.Decision, change func(*api.Decision)) api.Decision {
		change(&d)
		return d
	}
	for name, tc := range map[string]struct {
		d    api.Decision
		want string
	}{
		"cuts before the power": {with(api.ActionReboot, ipmi, lun, port), tainted + "- it is cut off from its storage by networkfence csi, and the fence goes no further before that is seen\n" +
			"- it is cut off from its network by snmp 192.0.2.8; A PERSON MUST GIVE THAT BACK\n" +
			"- its machine is switched off, and read off twice, by ipmi 192.0.2.7\n" + released + "- its machine is switched on again, and " + back},
		"cuts alone": {with(api.ActionReboot, lun), tainted + "- it is cut off from its storage by networkfence csi, and the fence goes no further before that is seen\n" +
			"- no device switches its machine: pods all of whose writable volumes are cut off are released to start elsewhere, and all others stay\n" +
			"- it gets access again once it has rebooted, or uses none of those volumes any more, and " + back},
		"cuts alone, and nothing released": {changed(with(api.ActionOff, lun), func(d *api.Decision) { d.Settings.Release.Strategy = api.ReleaseNone }), tainted +
			"- it is cut off from its storage by networkfence csi, and the fence goes no further before that is seen\n- no device switches its machine, and nothing is released\n" +
			"- it gets access again once it has rebooted, or uses none of those volumes any more, and " + back},
		"cuts that are not made": {with(api.ActionIsolate, ipmi, lun), tainted + "- no device is touched, and nothing is released before a person confirms that the machine is off\n"},
		"a Machine": {with(api.ActionReboot, machine), tainted +
			"- its Machine object IS DELETED, and its instance with it, and read off twice, by machine machine:aws:///x/i-1\n" + released + replaced},
		"a Machine, for good": {with(api.ActionOff, both), tainted + "- its Machine object IS DELETED, and its instance with it, and read off twice, by set two\n" + released + replaced},
		"a Machine at last": {with(api.ActionOff, ipmi, machine), tainted + "- its machine is switched off, and read off twice, by ipmi 192.0.2.7, then machine machine:aws:///x/i-1\n" +
			"- if it comes to machine machine:aws:///x/i-1, its Machine object IS DELETED, and its instance with it\n" + released + "- the machine stays off until a person switches it on\n"},
		"a Machine beyond the levels": {changed(with(api.ActionOff, ipmi, machine), func(d *api.Decision) { d.Settings.Power.MaxLevels = 1 }), tainted +
			"- its machine is switched off, and read off twice, by ipmi 192.0.2.7\n" + released + "- the machine stays off until a person switches it on\n"},
		"a Machine that is only read": {with(api.ActionWaitForOff, machine), "- no device switches anything: the machine is read until it is off, or a person confirms that\n" + released + "- the machine stays off until a person switches it on\n"},
		"a Machine without a node": {changed(with(api.ActionReboot), func(d *api.Decision) {
			d.Trigger.Machine = &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "x"}, State: api.MachineStateNoNode}
		}), "- Machine m/x, which has no node, IS DELETED, and its instance with it: its owner makes another one in its place\n"},
		"a Node": {changed(with(api.ActionOff, ipmi), func(d *api.Decision) { d.Settings.Release.DeleteNode = true }), tainted +
			"- its machine is switched off, and read off twice, by ipmi 192.0.2.7\n" + released + "- its Node object IS DELETED once nothing is left on it (release.deleteNode)\n- the machine stays off until a person switches it on\n"},
	} {
		if got := strings.Join(Follows(&tc.d, nil, ann.At.Time), "\n") + "\n"; got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

// TestAskNamesTheCuts: as nodefence has read the devices, where it has kept no binding.
func TestAskNamesTheCuts(t *testing.T) {
	target := &api.FenceTarget{}
	now := metav1.NewMicroTime(ann.At.Time)
	target.Status.Devices = []api.TargetDevice{{Driver: "networkfence", Address: "csi", Role: api.RoleStorage, LastChecked: &now}}
	r := &api.ResolvedPolicy{Policy: api.PolicyRef{Name: "workers"}, Settings: api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot}}
	_, says, err := Ask("a1", "ns", ann, r, observed.Node{}, target, nil)
	if words := strings.Join(says, "\n"); err != nil || !strings.Contains(words, "- it is cut off from its storage by networkfence csi\n- no device switches its machine: ") || strings.Contains(words, "switched off") {
		t.Errorf("%v: %s", err, words)
	}
}

package specs

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Bare is of a Machine that has no node.
func Bare() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.NodeUID, s.Decision.Devices, s.Decision.Settings.Power.Attempts = "", nil, 2
	s.Decision.Trigger = api.Trigger{Type: api.TriggerMachine, Since: observed.StampOf(fencetest.Start), Machine: &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "n", UID: "x", Owner: "pool"}, State: api.MachineStateNoNode}}
	return s
}

// Begun is of a machine that another program, which is gone, had begun to reboot.
func Begun() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Devices[0].Adopted = &api.AdoptedDevice{Kind: "FenceAgentsRemediation", Namespace: "n", Name: "n", UID: "o", NodeName: "n", RebootBegun: true}
	return s
}

// Machine is of a node whose Machine has failed.
func Machine() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger = api.Trigger{Type: api.TriggerMachine, Since: observed.StampOf(fencetest.Start), Machine: &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "x", UID: "x"}, State: api.MachineStateFailed}}
	return s
}

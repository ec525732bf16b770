package agent

import (
	"fmt"
	"strings"
)

// unfit are agents whose "off" proves nothing, or that do not switch machines, with what their
// code does (4.12.1). An off that only means that the agent did not read on is none (S2).
var unfit = map[string]string{
	"fence_amt":           "it calls a machine off that sleeps, and one whose power state it does not understand; name another device of the machine, such as an outlet, or driver manual",
	"fence_aws":           "it stops nothing where it does not run on a running EC2 instance of the same account, and says that it did; leave job_image out: then driver ec2 takes its place",
	"fence_cisco_ucs":     "it calls a blade off that its manager can't reach",
	"fence_compute":       "it moves instances, and does not switch a machine",
	"fence_crosslink":     "it calls a machine off that does not answer a ping",
	"fence_dummy":         "it has no device, and calls itself off if it can't read its own file",
	"fence_ecloud":        "it exits as for on when the machine is off",
	"fence_evacuate":      "it moves instances, and does not switch a machine",
	"fence_ibmblade":      "it calls a blade off whose power state it does not understand; use fence_bladecenter",
	"fence_ibmz":          "it calls a partition off that its console can't reach",
	"fence_ibm_powervs":   "its parameter instance is another word for plug in nodefence's configuration",
	"fence_kubevirt":      "it needs a kubeconfig, which may name programs to run",
	"fence_ilo3_ssh":      "it calls a machine off whose state it does not understand; use fence_redfish or fence_ipmilan",
	"fence_ilo4_ssh":      "it calls a machine off whose state it does not understand; use fence_redfish or fence_ipmilan",
	"fence_ilo5_ssh":      "it calls a machine off whose state it does not understand; use fence_redfish or fence_ipmilan",
	"fence_ilo_mp":        "it calls a machine off whose state it does not understand; use fence_ipmilan",
	"fence_ilo_ssh":       "it calls a machine off whose state it does not understand; use fence_redfish or fence_ipmilan, or fence_ilo2 for an iLO 2",
	"fence_ironic":        "it tells the power that Ironic saw last, which may be minutes ago",
	"fence_lpar":          "it calls a partition off that its console can't reach",
	"fence_powerman":      "its metadata has no parameter for the machine",
	"fence_sanlock":       "it writes to shared storage, and does not see the machine go off",
	"fence_sbd":           "it writes to shared storage, and does not see the machine go off",
	"fence_skalar":        "it calls a machine off that is starting, in error, or on a host that is not reached",
	"fence_vbox":          "it calls a machine off that it does not see among the running ones",
	"fence_virsh":         "it calls a machine off that is still shutting down, and one whose state it does not understand",
	"fence_vmware":        "it calls a machine off that it does not see among the running ones, and it takes a command to run; use driver vsphere",
	"fence_vmware_rest":   "it calls a machine off that is suspended, and may go on where it was; leave job_image out: then driver vsphere takes its place",
	"fence_vmware_soap":   "it calls a machine off that is suspended, and one whose power state it does not understand; leave job_image out: then driver vsphere takes its place",
	"fence_vmware_vcloud": "it calls a machine off that is suspended, and may go on where it was; use driver vsphere, at the vCenter of the machine",
	"fence_kdump":         "it waits for a dump, and does not switch a machine",
	"fence_ack_manual":    "it asks a person; confirm a fence with kubectl instead",
}

// tells are the agents whose code (4.12.1) fails for a machine that they do not know, so that
// their off is the off of an existing machine. They either have one machine, the one that they
// speak with, or look it up by its name.
var tells = named(`
	alom drac idrac ilo ilo2 ilo3 ilo4 ilo5 imm ipmilan ipmilanplus redfish rsa rsb
	aliyun apc azure_arm bladecenter cdu cyberpower_ssh docker drac5 eps gce hds_cb hpblade ibm_vpc
	ilo_moonshot ldom netio openstack pve raritan raritan_px3 rhevm xenapi`)

func named(names string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(names) {
		out["fence_"+n] = true
	}
	return out
}

func refused(agent, why string) error { return fmt.Errorf("agent %s is refused: %s", agent, why) }

// fit refuses agents that can't be a node's device.
func (m *metadata) fit() error {
	switch {
	case !m.can("off") || !m.can("on") || !m.can("status"):
		return refused(m.agent, "it can't tell the power, switch off and switch on")
	case m.keyed() && m.has("devices"):
		return nil // its off is compared with nothing, and exists says so
	case !m.has("ip") && !m.has("plug"):
		return refused(m.agent, "its metadata has no parameter for the machine")
	case !m.can("list") && !tells[m.agent]:
		return refused(m.agent, "it can't list its machines, and says off for one that does not exist as far as anybody here knows")
	}
	return nil
}

// outlets tells whether the agent has a plug for each machine. An agent without plugs is the
// device of one machine, at its address.
func (m *metadata) outlets() bool { return m.has("plug") && !m.has("port_as_ip") }

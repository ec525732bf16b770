package binding

import (
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/gce"
	"github.com/nodefence/nodefence/shared/device/ipmi"
	"github.com/nodefence/nodefence/shared/device/machine"
	"github.com/nodefence/nodefence/shared/device/manual"
	"github.com/nodefence/nodefence/shared/device/networkfence"
	"github.com/nodefence/nodefence/shared/device/openstack"
	"github.com/nodefence/nodefence/shared/device/redfish"
	"github.com/nodefence/nodefence/shared/device/vsphere"
)

// Drivers are the drivers of this build, by name. Drivers that work through objects of the
// cluster can be bound and not opened: DriversIn opens them too.
var Drivers = DriversIn(nil, gce.Metadata)

// DriversIn returns Drivers for one cluster; metadata is the host of Compute Engine's
// metadata server.
func DriversIn(in device.Cluster, metadata string) map[string]device.Kind {
	all := map[string]device.Kind{
		"azure":        azure.Kind(),
		"ec2":          ec2.Kind(),
		"ec2-network":  ec2.NetworkKind(),
		"gce":          gce.Kind(metadata),
		"ipmi":         ipmi.Kind(),
		"manual":       manual.Kind(),
		"networkfence": networkfence.Kind(in),
		"openstack":    openstack.Kind(),
		"redfish":      redfish.Kind(),
		"vsphere":      vsphere.Kind(),
	}
	all["machine"] = machine.Kind(in, all["azure"], all["ec2"], all["gce"], all["openstack"])
	return all
}

// agents are the ClusterLabs agents, by name, for whose devices there is a driver of our
// own.
var agents = map[string]string{
	"fence_ipmilan": "ipmi", "fence_ilo3": "ipmi", "fence_ilo4": "ipmi", "fence_ilo5": "ipmi",
	"fence_idrac": "ipmi", "fence_imm": "ipmi", "ipmi": "ipmi",
	"fence_redfish": "redfish", "redfish": "redfish",
	"fence_aws": "ec2", "ec2": "ec2",
	"fence_openstack": "openstack", "openstack": "openstack", "manual": "manual", "machine": "machine",
	"networkfence": "networkfence", "ec2_network": "ec2-network",
	"fence_azure_arm": "azure", "azure": "azure", "fence_gce": "gce", "gce": "gce",
	"fence_vmware_soap": "vsphere", "fence_vmware_rest": "vsphere", "vsphere": "vsphere",
}

// aliases are the agents' older names of parameters, and a driver's own names where agents
// use other ones.
var aliases = map[string]string{
	"ipaddr": "ip", "login": "username", "user": "username", "passwd": "password", "privlvl": "privilege", "port": "plug",
	"instance": "plug", "uuid": "plug", "vm": "plug", "machine": "plug", "host": "ip", "server": "ip",
}

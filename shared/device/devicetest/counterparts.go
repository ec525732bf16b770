package devicetest

import "slices"

// Counterpart is what a driver is tested against in the suite: the program that answers the
// driver, and its faults.
type Counterpart struct {
	Driver, Mode string
	// Is describes the counterpart.
	Is string
	// By is its author; empty for nodefence's own authors.
	By string
	// Besides lists other tests that the driver passes.
	Besides string
	// Faults are the faults that it can play.
	Faults []string
}

func all(but ...string) []string {
	return slices.DeleteFunc([]string{
		Hang, Refuse, ConflictWhenOff, AcceptAndIgnore, WrongPassword, Unreachable, ResetConnection, Mute,
		Slow, Early, Lie, Other, Stopping,
	}, func(f string) bool { return slices.Contains(but, f) })
}

// datagrams are the faults of answers that anybody could have sent. A relay between driver
// and device plays them, for any device.
var datagrams = []string{Forged, Downgrade, Nameless, Short}

func every() []string { return slices.Concat(all(), datagrams) }

const (
	ownREST   = "a server of our own (rest/resttest)"
	ownBMC    = "a BMC of our own (redfishtest)"
	sameBMC   = "Debian's `fence_redfish` switches the same BMC"
	besideBMC = "Debian's `fence_ipmilan` switches the same BMC"
)

// Counterparts has all counterparts, by the name in a Harness's Against. The suite takes
// the faults from here, and MATRIX.md is generated from it. A device without a state
// between on and off can't play Stopping. A device that is found by its identity can't be
// Other.
var Counterparts = map[string]Counterpart{
	"mem": {
		Driver: "mem", Is: "itself: its machines are in memory, for tests and the demo", Faults: all(Stopping),
	},
	"agent": {
		Driver: "agent", Is: "a fence agent of our own, which misbehaves as it is told", Faults: all(Other, Stopping),
		Besides: "Debian's `fence_ipmilan` on `ipmi_sim`, `fence_apc_snmp` on `snmpd`, the metadata of all agents",
	},
	"agent/fabric": {
		Driver: "agent", Mode: "for storage and networks", Is: "the same agent, as one for fabrics", Faults: all(Other, Stopping),
		Besides: "the metadata of Debian's `fence_scsi`, `fence_mpath`, `fence_brocade`, `fence_cisco_mds`, `fence_sanbox2`, `fence_ifmib`; no switch or disk ever answered",
	},
	"job": {
		Driver: "job", Is: "processes of this machine in place of pods, with the fence agent of our own", Faults: all(Other, Stopping),
		Besides: "Jobs, their scheduling and admission on a real control plane, with Debian's `fence_ipmilan` in place of its pods (test/e2e); *no real kubelet and no container runtime*",
	},
	"azure": {
		Driver: "azure", Is: ownREST, Faults: all(),
		Besides: "`armcompute/fake` of Azure's own SDK reads its requests and writes its answers; what a machine does is *unverified against anything independent*",
	},
	"ec2":         {Driver: "ec2", Is: "an API of our own (ec2test)", Faults: all()},
	"ec2-network": {Driver: "ec2", Mode: "as `ec2-network`", Is: "an API of our own (ec2test)", Faults: all(ConflictWhenOff, Stopping)},
	"gce":         {Driver: "gce", Is: ownREST, Faults: all()},
	"machine": {
		Driver: "machine", Is: "an API server of our own (clustertest) with a Machine controller of our own, and the EC2 API of our own (ec2test)", Faults: all(),
		Besides: "a real API server with the Machine kinds and the same controller; *unverified against any real Machine controller*",
	},
	"networkfence": {
		Driver: "networkfence", Is: "an API server of our own (clustertest) and our own counterpart of csi-addons, by the source of v0.12.0", Faults: all(Other),
		Besides: "a real API server with the CRD and the same counterpart of csi-addons; what the storage does is *unverified against anything independent*",
	},
	"openstack": {Driver: "openstack", Is: ownREST, Faults: all()},
	"ipmi": {
		Driver: "ipmi", Is: "the BMC of go-ipmi", By: "others", Faults: slices.Concat(all(Stopping), datagrams), Besides: besideBMC,
	},
	"ipmi/sim": {
		Driver: "ipmi", Is: "OpenIPMI's `ipmi_sim`", By: "others", Faults: slices.Concat(all(ResetConnection, Early, Lie, Other, Stopping), datagrams), Besides: besideBMC,
	},
	"ipmi/pyghmi": {
		Driver: "ipmi", Is: "pyghmi's BMC, with a machine of our own", By: "others", Faults: slices.Concat(all(Stopping), datagrams), Besides: besideBMC,
	},
	"redfish/uri": {
		Driver: "redfish", Mode: "by URI", Is: ownBMC, Faults: all(), Besides: sameBMC,
	},
	"redfish/session": {
		Driver: "redfish", Mode: "by URI, in a session", Is: ownBMC, Faults: all(), Besides: sameBMC,
	},
	"redfish/uuid": {
		Driver: "redfish", Mode: "by UUID, in a session", Is: ownBMC, Faults: all(Other), Besides: sameBMC,
	},
	"vsphere": {
		Driver: "vsphere", Is: "govmomi's `simulator` (vcsim)", By: "others", Faults: all(Other, Stopping),
	},
}

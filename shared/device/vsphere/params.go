package vsphere

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "vsphere",
		Params: slices.Concat([]device.Param{
			// Not marked as required: a required parameter could be put into a Secret,
			// where the address could not read it.
			{Name: "server", Doc: "address or name of the vCenter, or of the ESXi host"},
			{Name: "ipport", Default: "443", Doc: "its TCP port"},
			{Name: "uuid", Required: true, Machine: true, Doc: "BIOS UUID of the virtual machine"},
			{Name: "datacenter", Doc: "path of the datacenter to look in, such as /Berlin; all of them if not given"},
			{Name: "username", Required: true, Doc: "user of the vCenter, such as fence@vsphere.local"},
			{Name: "password", Required: true, Secret: true, Doc: "the user's password"},
		}, trust.Params()),
		// vSphere carries out one power operation of a machine at a time. A power-on is
		// refused during a power-off, so that no off can take effect after an on. What is
		// left is that vCenter shows changes late.
		EffectDelay: 30 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Hosts:       host.In("server"),
		Open:        open,
	}
}

// machine is one virtual machine.
type machine struct {
	server           string
	port             int
	uuid, datacenter string
	user, password   string
	tls              *tls.Config
	// shut: the last login was refused.
	shut error
}

// address is vsphere:<UUID>, whichever vCenter or host knows it: two nodes with one machine
// are noticed even if they name two vCenters. All parameters that are not secret are
// checked here, because the address is asked for when a configuration is read; open is only
// called when the machine is down.
func address(p map[string]string) (string, error) {
	m, err := parse(p)
	if err != nil {
		return "", err
	}
	return "vsphere:" + m.uuid, nil
}

func open(p map[string]string) (device.Driver, error) {
	m, err := parse(p)
	if err == nil {
		err = device.Given(p, "username", "password")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// parse reads all parameters; those from a Secret may still be missing. It refuses a
// machine's name: the name is not unique, and a user who may rename machines could choose
// which machine is switched (S11: the device is the node's own).
func parse(p map[string]string) (*machine, error) {
	m := &machine{user: p["username"], password: p["password"], datacenter: strings.TrimSpace(p["datacenter"])}
	var err error
	if m.server, err = host.Name("server", p["server"]); err != nil {
		return nil, err
	}
	if m.port, err = host.Port("ipport", p["ipport"], 443); err != nil {
		return nil, err
	}
	if m.uuid, err = device.UUID("uuid", p["uuid"]); err != nil {
		return nil, fmt.Errorf("%w; give the BIOS UUID of the machine, its name is not taken", err)
	}
	m.tls, err = trust.Config(p)
	return m, err
}

// at is host and port, in the form of URLs.
func (m *machine) at() string { return net.JoinHostPort(m.server, strconv.Itoa(m.port)) }

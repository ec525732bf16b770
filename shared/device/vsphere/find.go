package vsphere

import (
	"context"

	"github.com/nodefence/nodefence/shared/device"
)

// virtual is the part of a virtual machine that is used, with vSphere's names.
type virtual struct {
	ref                     ref
	uuid, power, connection string
	host                    ref
	hostConnection          string
}

// name is the name that never changes. People's names for machines change, and are somebody
// else's text.
func (vm *virtual) name() string { return vm.ref.value }

// find reads the machine with the UUID. If two have it, for example a copy that kept it,
// neither is accepted.
func (c *conversation) find(ctx context.Context) (*virtual, error) {
	const what = "look for the machine"
	dc, err := c.datacenter(ctx)
	if err != nil {
		return nil, err
	}
	got, err := c.call(ctx, "FindAllByUuid", c.search, dc, with("uuid", c.m.uuid), with("vmSearch", "true"), with("instanceUuid", "false"))
	found := got.all("returnval")
	switch {
	case err != nil:
		return nil, c.explain(what, err)
	case len(found) == 0:
		return nil, c.errorf(device.ErrUnknown, "no machine that this user may see has the BIOS UUID %s", c.m.uuid)
	case len(found) > 1:
		return nil, c.errorf(device.ErrUnknown, "%d machines have the BIOS UUID %s; give each its own", len(found), c.m.uuid)
	}
	return c.read(ctx, found[0].ref())
}

// datacenter is where to look, as an argument; empty is everywhere.
func (c *conversation) datacenter(ctx context.Context) (string, error) {
	if c.m.datacenter == "" {
		return "", nil
	}
	got, err := c.call(ctx, "FindByInventoryPath", c.search, with("inventoryPath", c.m.datacenter))
	dc := got.at("returnval").ref()
	switch {
	case err != nil:
		return "", c.explain("look for the datacenter", err)
	case dc.kind != "Datacenter":
		return "", c.errorf(device.ErrUnknown, "there is no datacenter %q that this user may see", c.m.datacenter)
	}
	return dc.as("datacenter"), nil
}

// read reads the machine first, and then its host.
func (c *conversation) read(ctx context.Context, at ref) (*virtual, error) {
	p, err := c.properties(ctx, at, "config.uuid", "runtime.powerState", "runtime.connectionState", "runtime.host")
	if err != nil {
		return nil, err
	}
	vm := &virtual{
		ref: at, uuid: p["config.uuid"].text(), power: p["runtime.powerState"].text(),
		connection: p["runtime.connectionState"].text(), host: p["runtime.host"].ref(),
	}
	// A machine whose host can't read its files tells no UUID, and is not connected.
	if vm.uuid != "" && !device.SameIdentity(vm.uuid, c.m.uuid) {
		return nil, c.errorf(device.ErrUnknown, "machine %s has BIOS UUID %s, asked for was %s", vm.name(), vm.uuid, c.m.uuid)
	}
	if vm.host.kind != "HostSystem" {
		return nil, c.errorf(device.ErrUnreachable, "machine %s is on no host; what is known of it is a memory", vm.name())
	}
	if p, err = c.properties(ctx, vm.host, "runtime.connectionState"); err != nil {
		return nil, err
	}
	vm.hostConnection = p["runtime.connectionState"].text()
	return vm, nil
}

// properties are those of one object. A property that may not be read is an error and not
// missing.
func (c *conversation) properties(ctx context.Context, of ref, names ...string) (map[string]element, error) {
	what := "read " + of.value
	spec := "<specSet><propSet>" + with("type", of.kind) + with("all", "false")
	for _, n := range names {
		spec += with("pathSet", n)
	}
	spec += "</propSet><objectSet>" + of.as("obj") + "</objectSet></specSet>"
	got, err := c.call(ctx, "RetrieveProperties", c.collector, spec)
	if err != nil {
		return nil, c.explain(what, err)
	}
	found := got.all("returnval")
	if len(found) != 1 || found[0].at("obj").ref() != of {
		return nil, c.errorf(device.ErrUnknown, "%s: the answer is about %d objects, or about another", what, len(found))
	}
	if missing := found[0].all("missingSet"); len(missing) > 0 {
		m := missing[0]
		return nil, c.faulty(what+" "+m.at("path").text(), faultOf(m.at("fault", "fault"), m.at("fault", "localizedMessage").text()))
	}
	p := map[string]element{}
	for _, set := range found[0].all("propSet") {
		p[set.at("name").text()] = set.at("val")
	}
	return p, nil
}

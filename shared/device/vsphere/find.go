package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/nodefence/nodefence/shared/device"
)

// virtual is what of a virtual machine matters here.
type virtual struct {
	ref            types.ManagedObjectReference
	uuid           string
	power          types.VirtualMachinePowerState
	connection     types.VirtualMachineConnectionState
	host           string
	hostConnection types.HostSystemConnectionState
}

// name is the one that never changes. People's names for machines do, and are
// somebody else's text.
func (vm *virtual) name() string { return vm.ref.Value }

// find reads the machine of the UUID. Of two with one UUID, such as copies that
// kept it, neither is meant.
func (c *conversation) find(ctx context.Context) (*virtual, error) {
	const what = "look for the machine"
	dc, err := c.datacenter(ctx)
	if err != nil {
		return nil, err
	}
	byBIOS := false
	res, err := methods.FindAllByUuid(ctx, c.api, &types.FindAllByUuid{
		This: *c.api.ServiceContent.SearchIndex, Datacenter: dc, Uuid: c.m.uuid, VmSearch: true, InstanceUuid: &byBIOS,
	})
	switch {
	case err != nil:
		return nil, c.explain(what, err)
	case len(res.Returnval) == 0:
		return nil, c.errorf(device.ErrUnknown, "no machine that this user may see has the BIOS UUID %s", c.m.uuid)
	case len(res.Returnval) > 1:
		return nil, c.errorf(device.ErrUnknown, "%d machines have the BIOS UUID %s; give each its own", len(res.Returnval), c.m.uuid)
	}
	return c.read(ctx, res.Returnval[0])
}

// datacenter is where to look; nil is everywhere.
func (c *conversation) datacenter(ctx context.Context) (*types.ManagedObjectReference, error) {
	if c.m.datacenter == "" {
		return nil, nil
	}
	res, err := methods.FindByInventoryPath(ctx, c.api, &types.FindByInventoryPath{
		This: *c.api.ServiceContent.SearchIndex, InventoryPath: c.m.datacenter,
	})
	switch {
	case err != nil:
		return nil, c.explain("look for the datacenter", err)
	case res.Returnval == nil || res.Returnval.Type != "Datacenter":
		return nil, c.errorf(device.ErrUnknown, "there is no datacenter %q that this user may see", c.m.datacenter)
	}
	return res.Returnval, nil
}

// read asks for the machine first, and for its host as it is after that.
func (c *conversation) read(ctx context.Context, ref types.ManagedObjectReference) (*virtual, error) {
	p, err := c.properties(ctx, ref, "config.uuid", "runtime.powerState", "runtime.connectionState", "runtime.host")
	if err != nil {
		return nil, err
	}
	vm := &virtual{ref: ref}
	vm.uuid, _ = p["config.uuid"].(string)
	vm.power, _ = p["runtime.powerState"].(types.VirtualMachinePowerState)
	vm.connection, _ = p["runtime.connectionState"].(types.VirtualMachineConnectionState)
	// One whose host can't read its files tells no UUID, and is not connected.
	if vm.uuid != "" && !device.SameIdentity(vm.uuid, c.m.uuid) {
		return nil, c.errorf(device.ErrUnknown, "machine %s has BIOS UUID %s, asked for was %s", vm.name(), vm.uuid, c.m.uuid)
	}
	host, ok := p["runtime.host"].(types.ManagedObjectReference)
	if !ok {
		return nil, c.errorf(device.ErrUnreachable, "machine %s is on no host; what is known of it is a memory", vm.name())
	}
	if p, err = c.properties(ctx, host, "runtime.connectionState"); err != nil {
		return nil, err
	}
	vm.host = host.Value
	vm.hostConnection, _ = p["runtime.connectionState"].(types.HostSystemConnectionState)
	return vm, nil
}

// properties are those of one object. One that may not be read is an error and
// not missing.
func (c *conversation) properties(ctx context.Context, ref types.ManagedObjectReference, names ...string) (map[string]any, error) {
	what := "read " + ref.Value
	res, err := methods.RetrieveProperties(ctx, c.api, &types.RetrieveProperties{
		This: c.api.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			PropSet: []types.PropertySpec{{Type: ref.Type, PathSet: names}}, ObjectSet: []types.ObjectSpec{{Obj: ref}},
		}},
	})
	if err != nil {
		return nil, c.explain(what, err)
	}
	if len(res.Returnval) != 1 {
		return nil, c.errorf(device.ErrUnknown, "%s: the answer is about %d objects", what, len(res.Returnval))
	}
	for _, m := range res.Returnval[0].MissingSet {
		return nil, c.faulty(what+" "+m.Path, m.Fault.Fault, m.Fault.LocalizedMessage)
	}
	p := map[string]any{}
	for _, d := range res.Returnval[0].PropSet {
		p[d.Name] = d.Val
	}
	return p, nil
}

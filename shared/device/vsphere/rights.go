package vsphere

import (
	"context"
	"slices"

	"github.com/nodefence/nodefence/shared/device"
)

// needed are the privileges on a machine that are needed to switch it. An account that may
// not see it finds no machine.
var needed = []string{"VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.PowerOn"}

// Lacking asks which of these privileges this session lacks. If a login has just been
// refused, it does not try again: the account might be locked.
func (m *machine) Lacking(ctx context.Context) (lacks []string, err error) {
	if m.shut != nil {
		return nil, m.shut
	}
	err = m.talk(ctx, func(ctx context.Context, c *conversation) error {
		vm, err := c.find(ctx)
		if err == nil {
			lacks, err = c.lacking(ctx, vm)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return lacks, nil
}

func (c *conversation) lacking(ctx context.Context, vm *virtual) ([]string, error) {
	const what = "ask for the privileges"
	if c.rights.value == "" || c.session == "" {
		return nil, c.errorf(device.ErrUnsupported, "%s: it tells none", what)
	}
	args := []string{vm.ref.as("entity"), with("sessionId", c.session)}
	for _, p := range needed {
		args = append(args, with("privId", p))
	}
	got, err := c.call(ctx, "HasPrivilegeOnEntities", c.rights, args...)
	if err != nil {
		return nil, c.explain(what, err)
	}
	has := map[string]string{}
	for _, of := range got.all("returnval") {
		if of.at("entity").ref() != vm.ref {
			continue
		}
		for _, p := range of.all("privAvailability") {
			has[p.at("privId").text()] = p.at("isGranted").text()
		}
	}
	lacks := []string{}
	for _, p := range needed {
		switch {
		case slices.Contains([]string{"false", "0"}, has[p]):
			lacks = append(lacks, p)
		case !slices.Contains([]string{"true", "1"}, has[p]):
			return nil, c.errorf(device.ErrUnsupported, "%s: the answer does not tell of %s", what, p)
		}
	}
	return lacks, nil
}

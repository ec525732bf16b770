package vsphere

import (
	"context"
	"errors"

	"github.com/nodefence/nodefence/shared/device"
)

// State reads the power and the BIOS UUID of the machine.
func (m *machine) State(ctx context.Context) (device.Reading, error) {
	var r device.Reading
	err := m.talk(ctx, func(ctx context.Context, c *conversation) error {
		vm, err := c.find(ctx)
		if err != nil {
			return err
		}
		power, err := c.power(vm)
		r = device.Reading{Power: power, Identity: vm.uuid}
		return err
	})
	if err != nil {
		return device.Reading{}, err
	}
	return r, nil
}

// vSphere's names for a machine's power.
const (
	poweredOn  = "poweredOn"
	poweredOff = "poweredOff"
	suspended  = "suspended"
)

// Off cuts the power at once, without asking the operating system.
func (m *machine) Off(ctx context.Context) error {
	return m.change(ctx, "power off", poweredOff, "PowerOffVM_Task")
}

// On switches the machine on.
func (m *machine) On(ctx context.Context) error {
	return m.change(ctx, "power on", poweredOn, "PowerOnVM_Task")
}

// change sends one command, once. It sends none to a machine that is as wanted already (S9:
// read first, then act), and none to a machine whose host is not connected: nobody would
// know when the command is carried out.
func (m *machine) change(ctx context.Context, what, goal, method string) error {
	return m.talk(ctx, func(ctx context.Context, c *conversation) error {
		vm, err := c.find(ctx)
		if err != nil {
			return err
		}
		if err := c.reachable(vm); err != nil {
			return err
		}
		switch {
		case c.settled(vm, goal):
			return nil
		case vm.power == suspended && goal == poweredOn:
			return c.errorf(device.ErrConflict, "machine %s is suspended: it would go on where it was, with what it had in memory; power it off first", vm.name())
		}
		task, err := c.call(ctx, method, vm.ref)
		if err = c.explain(what+" "+vm.name(), err); err == nil {
			err = c.wait(ctx, what+" "+vm.name(), task.at("returnval").ref())
		}
		if !errors.Is(err, device.ErrConflict) {
			return err
		}
		// vSphere may refuse because the machine is as wanted already. That is read, and
		// not assumed.
		if now, rerr := c.find(ctx); rerr == nil && c.settled(now, goal) {
			return nil
		}
		return err
	})
}

// powers are the powers of states. A suspended machine keeps its memory and continues where
// it was (S2).
var powers = map[string]device.Power{poweredOn: device.On, suspended: device.On, poweredOff: device.Off}

// connected is vSphere's value for a host, and for a machine, with a connection.
const connected = "connected"

// reachable: the machine's host is connected now.
func (c *conversation) reachable(vm *virtual) error {
	if vm.hostConnection != connected {
		return c.errorf(device.ErrUnreachable, "host %s of machine %s is %s; what is known of the machine is a memory", vm.host.value, vm.name(), told(vm.hostConnection))
	}
	return nil
}

func (c *conversation) power(vm *virtual) (device.Power, error) {
	if err := c.reachable(vm); err != nil {
		return device.Unknown, err
	}
	if vm.connection != connected {
		return device.Unknown, c.errorf(device.ErrUnreachable, "machine %s is %s; what is known of it is a memory", vm.name(), told(vm.connection))
	}
	p := powers[vm.power]
	if p == device.Unknown {
		return p, c.errorf(device.ErrUnsupported, "machine %s is in power state %s, which this build does not know", vm.name(), told(vm.power))
	}
	return p, nil
}

func (c *conversation) settled(vm *virtual, goal string) bool {
	_, err := c.power(vm)
	return err == nil && vm.power == goal
}

// told is a value of vSphere's, which may be missing.
func told(s string) string {
	if s == "" {
		return "in a state that is not told"
	}
	return s
}

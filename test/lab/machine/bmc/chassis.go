package bmc

import (
	"context"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/types"
)

// Machine is what a BMC is built into.
type Machine interface {
	// Power is whether the power is on.
	Power() bool
	PowerOff()
	PowerOn()
	// Reset restarts a machine that is on.
	Reset()
	// ShutDown asks the kernel to end; a dead kernel does not.
	ShutDown()
}

// chassis is between the commands and the machine, where most faults are.
type chassis struct {
	unsupported
	machine Machine

	mu     sync.Mutex
	fault  fault
	closed bool
	// claim is what reads report instead of the true state.
	claim *claim
}

type claim struct{ on bool }

func (c *chassis) PowerState(context.Context) (bool, error) { return c.on(), nil }

func (c *chassis) SetPower(_ context.Context, on bool) error {
	if on {
		return c.order(true, c.machine.PowerOn)
	}
	if c.current().kind == Conflict && !c.on() {
		return types.CodeNotSupported
	}
	return c.order(false, c.machine.PowerOff)
}

func (c *chassis) PowerCycle(context.Context) error { return c.restart() }
func (c *chassis) ColdReset(context.Context) error  { return c.restart() }

// WarmReset is called by the server for a soft shutdown.
func (c *chassis) WarmReset(context.Context) error { return c.order(false, c.machine.ShutDown) }

func (c *chassis) restart() error {
	if !c.on() {
		return types.CodeNotSupported // as the specification wants for a machine that is off
	}
	return c.order(true, c.machine.Reset)
}

func (c *chassis) on() bool {
	c.mu.Lock()
	claim := c.claim
	c.mu.Unlock()
	if claim != nil {
		return claim.on
	}
	return c.machine.Power()
}

func (c *chassis) current() fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// set ends the false reports of the last fault, but not the commands that are still to be carried
// out.
func (c *chassis) set(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.claim = f, nil
}

// close makes sure that no late command reaches a machine that no longer exists.
func (c *chassis) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// order carries out a command that would leave the power at target.
func (c *chassis) order(target bool, do func()) error {
	f := c.current()
	switch f.kind {
	case Refuse:
		return f.code
	case Ignore:
	case Slow:
		c.later(f.delay, do)
	case Early:
		said := c.say(target)
		c.later(f.delay, func() {
			do()
			c.unsay(said)
		})
	case Lie:
		c.say(target)
	default:
		do()
	}
	return nil
}

func (c *chassis) say(on bool) *claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim = &claim{on}
	return c.claim
}

// unsay withdraws a claim, unless a later command has made it.
func (c *chassis) unsay(said *claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claim == said {
		c.claim = nil
	}
}

func (c *chassis) later(delay time.Duration, do func()) {
	time.AfterFunc(delay, func() {
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if !closed {
			do()
		}
	})
}

// unsupported has the functions of a chassis that ours lacks.
type unsupported struct{}

func (unsupported) Identify(context.Context, uint8) error { return nil }
func (unsupported) IntrusionState(context.Context) (bool, error) {
	return false, hal.ErrNotSupported
}
func (unsupported) SetBootFlags(context.Context, *types.BootOptionParam_BootFlags) error {
	return hal.ErrNotSupported
}
func (unsupported) GetBootFlags(context.Context) (*types.BootOptionParam_BootFlags, error) {
	return nil, hal.ErrNotSupported
}
func (unsupported) SetBootInfoAcknowledge(context.Context, *types.BootOptionParam_BootInfoAcknowledge) error {
	return hal.ErrNotSupported
}
func (unsupported) GetBootInfoAcknowledge(context.Context) (*types.BootOptionParam_BootInfoAcknowledge, error) {
	return nil, hal.ErrNotSupported
}

// hardware has only a chassis.
type hardware struct{ chassis *chassis }

func (h hardware) Chassis() hal.ChassisHAL { return h.chassis }
func (hardware) Sensors() hal.SensorHAL    { return nil }
func (hardware) Storage() hal.StorageHAL   { return nil }
func (hardware) Network() hal.NetworkHAL   { return nil }
func (hardware) GPIO() hal.GPIOHAL         { return nil }
func (hardware) I2C() hal.I2CHAL           { return nil }
func (hardware) Console() hal.ConsoleHAL   { return nil }
func (hardware) Close() error              { return nil }

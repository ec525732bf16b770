package device

import (
	"context"
	"errors"
	"time"
)

// Power is what a device says of a machine. The zero value is Unknown, so that
// a forgotten assignment can never read as off (S2).
type Power string

// The powers. Unknown is a value of its own and never means off.
const (
	Unknown Power = ""
	On      Power = "On"
	Off     Power = "Off"
)

// Reading is one answer of a device about its machine.
type Reading struct {
	Power Power
	// Identity is the machine's own name for itself (system UUID, serial,
	// instance ID) where the device can tell; empty where it can't (S11).
	Identity string
	// MissingSupply says in words what of the machine's power is not seen on though Power is On:
	// one of its several supplies. Who switches on is not done with that.
	MissingSupply string
}

// Driver talks to the device of one machine. Every method makes at most one
// bounded conversation, obeys ctx, and returns with nothing outstanding (S10).
type Driver interface {
	// State reads the power. An error always comes with Unknown.
	State(ctx context.Context) (Reading, error)
	// Off cuts the power at once, without asking the system on it. A machine
	// that is off already is not an error.
	Off(ctx context.Context) error
	// On switches the power on. A machine that is on already is not an error.
	On(ctx context.Context) error
}

// Scope is what a device takes from a machine when it is off.
type Scope string

// The scopes. Only the first stops the machine: what cuts off storage or network
// leaves it running, and is bound in a node's isolation, never as its power (S1).
const (
	ScopePower   Scope = ""
	ScopeStorage Scope = "Storage"
	ScopeNetwork Scope = "Network"
)

// Param is one parameter that a driver takes.
type Param struct {
	Name     string
	Required bool
	// Secret values come from a Secret and are never stored, shown or logged (S29).
	Secret bool
	// Machine parameters choose which machine is meant. They are taken only
	// from an object about this one node, never from a type or a default (S11).
	Machine bool
	Default string
	Doc     string
}

// Kind is what a driver declares of itself, and how it is opened.
type Kind struct {
	Name   string
	Params []Param
	// Scope says what Off takes away: of a Storage or Network kind, On reads as
	// "has access", Off as "is cut off".
	Scope Scope
	// NoOn says in words why On is refused, where nothing that nodefence can tell a
	// device undoes an Off; empty if On works. What binds it leaves it off (S12).
	NoOn string
	// EffectDelay is the longest time between an accepted Off or On and its
	// effect. A takeover and any power-on wait for it (S8).
	EffectDelay time.Duration
	// Lead is how long it may read off before the machine is off. After our own Off the
	// second read of a proof comes no earlier (S5). Zero is DefaultLead, so that a driver
	// that says nothing costs time and no data; AtOnce is for who reads the machine itself.
	Lead time.Duration
	// Address names the outlet or machine that the parameters choose, in one
	// spelling, so that two nodes with one address are seen (S11).
	Address func(params map[string]string) (string, error)
	// Each splits an address that is of several ends of one machine into what no other
	// machine may have any of, each in one spelling (S11); nil where an address is one.
	Each func(address string) []string
	// Identity names the parameter that a reading's identity must equal, where a
	// device knows its machines by an ID of its own; empty where what it tells is
	// the machine's system UUID (S11).
	Identity string
	// Cloud is for drivers of cloud instances: the parameters that a node's
	// provider ID stands for, and false if it is no instance of this cloud.
	Cloud func(providerID string) (params map[string]string, ok bool)
	// Denied tells in words why a parameter is refused that a program behind the
	// driver would take, and that may run, write or hide something; empty if it is
	// none of those. It may be nil.
	Denied func(param string) string
	// Hosts are those that a call sends credentials to, by name or address, without
	// ports and in the spelling of package host: a Secret is sent nowhere but to the
	// hosts that it names (S29). A driver that knows by itself where its device is gives
	// that host; an agent that does so gives the agent's name. Nil: no Secret is sent.
	Hosts func(params map[string]string) ([]string, error)
	// Open checks the parameters and returns a driver. It does no I/O.
	Open func(params map[string]string) (Driver, error)
}

// The leads of devices. A BMC may say off as soon as it has taken the command, while the
// supply still runs; a cloud says stopped of an instance that no host runs any more.
const (
	DefaultLead               = 5 * time.Second
	AtOnce      time.Duration = -1
)

// ReadsEarly is the lead that a kind declares.
func (k Kind) ReadsEarly() time.Duration {
	if k.Lead == 0 {
		return DefaultLead
	}
	return max(k.Lead, 0)
}

// The ways in which a device says no. Drivers wrap exactly one of them, so that
// an operator reads in words what to mend.
var (
	ErrUnreachable = errors.New("device unreachable")
	ErrDenied      = errors.New("device denied access")
	ErrUnsupported = errors.New("device does not support this")
	ErrConflict    = errors.New("device refused in its present state")
	ErrUnknown     = errors.New("device does not know this machine")
	// ErrInvalid is for what came and was no answer of the device: anybody could have
	// sent it, or it breaks the protocol. Nothing is known then.
	ErrInvalid = errors.New("device gave no valid answer")
	// ErrNotForHost is said before anything is sent: the Secret does not name the host.
	ErrNotForHost = errors.New("SecretNotForThisHost")
)

// ErrBlind is beside ErrUnknown for a device that reads off for every machine that it
// does not know. Its off is one only for who has seen the same binding on before.
var ErrBlind = errors.New("an off that can't be told from a machine that the device never knew")

// ErrFabric is for what switches no power: it can be no node's device.
var ErrFabric = errors.New("it cuts off storage or network, and the machine runs on")

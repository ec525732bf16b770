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
	// Identity is the machine's own name for itself (system UUID, serial, instance ID) if
	// the device can tell; empty if it can't (S11: the device is the node's own).
	Identity string
	// MissingSupply says in words which of several power supplies is not seen on though
	// Power is On, or which part of the access is cut off. The On is then not complete: an Off
	// goes on from there, and so does an On.
	MissingSupply string
	// Unread is why one of several supplies could not be read though Power is On; nil if each
	// was read. It may be the one that tells the identity.
	Unread error
}

// Driver calls the device of one machine. Every method makes at most one bounded
// conversation, obeys ctx, and returns with nothing outstanding (S10: nothing outlives its
// deadline).
type Driver interface {
	// State reads the power. An error always comes with Unknown.
	State(ctx context.Context) (Reading, error)
	// Off cuts the power at once, without asking the operating system. A machine that is
	// off already is not an error.
	Off(ctx context.Context) error
	// On switches the power on. A machine that is on already is not an error.
	On(ctx context.Context) error
}

// Scope is what an Off takes from a machine.
type Scope string

// The scopes. Only the first stops the machine. A device that cuts off storage or network
// leaves it running, and is bound in a node's isolation, never as its power (S1: no release
// without a proof).
const (
	ScopePower   Scope = ""
	ScopeStorage Scope = "Storage"
	ScopeNetwork Scope = "Network"
)

// Param is one parameter of a driver.
type Param struct {
	Name     string
	Required bool
	// Secret values come from a Secret and are never stored, shown or logged (S29: no
	// secret is shown).
	Secret bool
	// Machine parameters choose the machine. They are accepted only from an object about
	// this one node, never from a type or a default (S11).
	Machine bool
	Default string
	Doc     string
}

// Kind is a driver's description of itself, and its constructor.
type Kind struct {
	Name   string
	Params []Param
	// Scope says what Off takes away. For a Storage or Network kind, On means "has access",
	// and Off means "is cut off".
	Scope Scope
	// NoOn says why On is refused, if no call of nodefence can undo an Off; empty if On
	// works. A binding to such a kind leaves the machine off (S12: only what we switched
	// off is switched on).
	NoOn string
	// EffectDelay is the longest time between an accepted Off or On and its effect. A
	// takeover and any power-on wait for it (S8: the intent is saved before the call).
	EffectDelay time.Duration
	// Lead is how long the device may read off before the machine is off. The second read of a
	// proof comes no earlier, whoever switched it off (S5: a machine that was just switched off
	// gets time to be off). Zero is DefaultLead, so that a driver that declares nothing
	// costs time and no data. AtOnce is for drivers that read the machine itself.
	Lead time.Duration
	// Address names the outlet or machine that the parameters choose, in one spelling, so
	// that two nodes with one address are noticed (S11).
	Address func(params map[string]string) (string, error)
	// Each splits an address of several ends of one machine into parts that no other
	// machine may have, each in one spelling (S11); nil if an address is one part.
	Each func(address string) []string
	// Identity names the parameter that a reading's identity must equal, if a device knows
	// its machines by an ID of its own; empty if the reading's identity is the machine's
	// system UUID (S11).
	Identity string
	// Cloud is for drivers of cloud instances: it returns the parameters for a node's
	// provider ID, and false if the ID is no instance of this cloud.
	Cloud func(providerID string) (params map[string]string, ok bool)
	// Denied says why a parameter is refused that a program behind the driver would accept,
	// and that may run, write or hide something; empty if the parameter is harmless. It may
	// be nil.
	Denied func(param string) string
	// Hosts are the hosts to which a call sends credentials, by name or address, without
	// ports and in the spelling of package host: a Secret is sent only to the hosts that it
	// names (S29). A driver that knows its device's host by itself returns that host; an
	// agent that does so returns the agent's name. Nil: no Secret is sent.
	Hosts func(params map[string]string) ([]string, error)
	// Open checks the parameters and returns a driver. It does no I/O.
	Open func(params map[string]string) (Driver, error)
}

// The leads of devices. A BMC may say off as soon as it has accepted the command, while the
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

// The errors of devices. Drivers wrap exactly one of them, so that an operator reads what
// to correct.
var (
	ErrUnreachable = errors.New("device unreachable")
	ErrDenied      = errors.New("device denied access")
	ErrUnsupported = errors.New("device does not support this")
	ErrConflict    = errors.New("device refused in its present state")
	ErrUnknown     = errors.New("device does not know this machine")
	// ErrInvalid: an answer came that may not be the device's. Anybody could have sent it,
	// or it breaks the protocol. Nothing is known then.
	ErrInvalid = errors.New("device gave no valid answer")
	// ErrNotForHost is returned before anything is sent: the Secret does not name the host.
	ErrNotForHost = errors.New("SecretNotForThisHost")
)

// ErrBlind accompanies ErrUnknown for a device that reads off for every machine that it
// does not know. Its off counts only if the same binding was seen on before.
var ErrBlind = errors.New("an off that can't be told from a machine that the device never knew")

// NotInstalled is an error that says that the program of a device's agent is not there.
type NotInstalled string

func (n NotInstalled) Error() string { return string(n) }

// ErrFabric: the device switches no power, so it can be no node's device for power.
var ErrFabric = errors.New("it cuts off storage or network, and the machine runs on")

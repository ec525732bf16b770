package bmc

import (
	"fmt"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

// fault is one way to misbehave.
type fault struct {
	name  string
	after time.Duration
}

// known are the faults, as SetFault takes them.
var known = []string{
	"none", "hang", "refuse", "slow=DURATION", "accept-and-ignore", "conflict-when-off",
	"early", "lie", "wrong-password", "reset-connection",
}

// early is how long after it says off a machine with that fault really is.
const early = 3 * time.Second

// SetFault makes it misbehave from now on; "none" makes it honest again.
func (b *BMC) SetFault(spec string) error {
	f, err := parse(spec)
	if err != nil {
		return err
	}
	password := b.o.Password
	if f.name == "wrong-password" {
		password = "x" + password[:len(password)-1]
	}
	if err := b.user(password); err != nil {
		return err
	}
	b.conn.set(f.name == "hang")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.controls, b.pretend = f, 0, nil
	return nil
}

// Fault is the one in force.
func (b *BMC) Fault() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fault.name == "":
		return "none"
	case b.fault.after > 0:
		return b.fault.name + "=" + b.fault.after.String()
	}
	return b.fault.name
}

func parse(spec string) (fault, error) {
	name, value, has := strings.Cut(spec, "=")
	if name == "slow" {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return fault{}, fmt.Errorf("fault %q: say how slow, as in slow=6s", spec)
		}
		return fault{name: name, after: d}, nil
	}
	for _, k := range known {
		if k == name && !has {
			if name == "none" {
				name = ""
			}
			return fault{name: name}, nil
		}
	}
	return fault{}, fmt.Errorf("unknown fault %q: there are %s", spec, strings.Join(known, ", "))
}

// status is what the controller says of the power.
func (b *BMC) status() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note("status", true)
	if b.pretend != nil {
		return *b.pretend
	}
	return b.o.Machine.On()
}

// power is one Chassis Control off or on.
func (b *BMC) power(on bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	word := "off"
	if on {
		word = "on"
	}
	if b.fault.name == "refuse" || (b.fault.name == "conflict-when-off" && b.o.Machine.On() == on) {
		b.note(word, false)
		return types.CodeNotSupported // 0xD5: not in present state
	}
	b.note(word, true)
	b.controls++
	if b.fault.name == "reset-connection" && b.controls%2 == 1 {
		b.conn.breakOff()
	}
	if on {
		b.pretend = nil
		b.o.Machine.PowerOn()
		return nil
	}
	b.off()
	return nil
}

// off has the effect that the fault lets it have. The lock is held.
func (b *BMC) off() {
	said := false
	switch b.fault.name {
	case "accept-and-ignore":
	case "slow":
		b.later(b.fault.after, func() { b.o.Machine.PowerOff() })
	case "early":
		b.pretend = &said
		b.later(early, func() {
			b.o.Machine.PowerOff()
			b.mu.Lock()
			b.pretend = nil
			b.mu.Unlock()
		})
	case "lie":
		b.pretend = &said
	default:
		b.o.Machine.PowerOff()
	}
}

func (b *BMC) later(after time.Duration, do func()) {
	b.timers = append(b.timers, time.AfterFunc(after, do))
}

// restart is what nodefence never asks for; a test sees in the log if it did.
func (b *BMC) restart(word string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(word, true)
	b.o.Machine.PowerOff()
	b.o.Machine.PowerOn()
	return nil
}

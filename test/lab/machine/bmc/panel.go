package bmc

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Panel is between a machine and a BMC of another program. Panel has the faults and the log of a BMC, and no network.
type Panel struct {
	chassis *chassis
	log     *log
	now     func() time.Time
}

// NewPanel returns the panel of the BMC with that name and address. The journal gets each command and fault, with its
// time by now.
func NewPanel(name, address string, machine Machine, journal io.Writer, now func() time.Time) *Panel {
	return &Panel{
		now:     now,
		chassis: &chassis{machine: machine, fault: faults[None]},
		log:     &log{name: name, address: address, journal: journal},
	}
}

// Read returns whether the power is on, as the BMC is to say.
func (p *Panel) Read() (on bool) {
	arrived := p.now()
	on = p.chassis.on()
	says := "off"
	if on {
		says = "on"
	}
	p.log.add(Command{Time: arrived, Command: statusRead, Accepted: true, Says: says})
	return on
}

// Order carries out a command: on, off, cycle, reset or soft. After an error the BMC is to refuse the command.
func (p *Panel) Order(word string) error {
	arrived := p.now()
	err := p.carryOut(word)
	p.log.add(Command{Time: arrived, Command: word, Accepted: err == nil})
	return err
}

func (p *Panel) carryOut(word string) error {
	ctx := context.Background() // not used by the chassis
	switch word {
	case "on":
		return p.chassis.SetPower(ctx, true)
	case "off":
		return p.chassis.SetPower(ctx, false)
	case "cycle":
		return p.chassis.PowerCycle(ctx)
	case "reset":
		return p.chassis.ColdReset(ctx)
	case "soft":
		return p.chassis.WarmReset(ctx)
	}
	return fmt.Errorf("unknown command %q", word)
}

// SetFault makes the panel misbehave from now on, or with "none" stop misbehaving. The faults Hang and WrongPassword
// are the caller's to play; unable names the faults that the caller cannot play.
func (p *Panel) SetFault(text string, unable ...string) (kind string, err error) {
	f, err := parseFault(text)
	if err != nil {
		return "", err
	}
	for _, other := range unable {
		if f.kind == other {
			return "", fmt.Errorf("this BMC cannot have the fault %q", f.kind)
		}
	}
	p.chassis.set(f)
	p.log.addFault(f.kind, p.now())
	return f.kind, nil
}

// Fault is the present misbehaviour.
func (p *Panel) Fault() string { return p.chassis.current().String() }

// Log returns the commands in the order in which they were answered.
func (p *Panel) Log() []Command { return p.log.all() }

// Close makes sure that no late command reaches the machine.
func (p *Panel) Close() { p.chassis.close() }

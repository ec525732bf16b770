package mem

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// machine is one machine with its device.
type machine struct {
	fault    string
	commands []string
	lost     bool
	isOff    bool
	// offAt is when the power will go off; zero if it will not.
	offAt time.Time
	// says is the power that the device pretends, if it does.
	says device.Power
}

func (m *machine) on(now time.Time) bool {
	return !m.isOff && (m.offAt.IsZero() || now.Before(m.offAt))
}

func (m *machine) reading(name string, now time.Time) device.Reading {
	r := device.Reading{Power: device.Off, Identity: name}
	if m.on(now) {
		r.Power = device.On
	}
	if m.says != device.Unknown {
		r.Power = m.says
	}
	if m.fault == "other" {
		r.Identity = "another"
	}
	return r
}

// control is one off or on, with the effect that the fault allows.
func (m *machine) control(goal device.Power, now time.Time) error {
	is := m.reading("", now).Power
	if m.fault == "refuse" {
		return fmt.Errorf("%w: it never switches", device.ErrConflict)
	}
	if m.fault == "conflict" && is == goal {
		return errAlready
	}
	m.commands = append(m.commands, strings.ToLower(string(goal)))
	if goal == device.On {
		m.isOff, m.offAt, m.says = false, time.Time{}, device.Unknown
	} else {
		m.off(now)
	}
	m.lost = m.fault == "reset" && !m.lost
	if m.lost {
		return fmt.Errorf("%w: the connection was reset", device.ErrUnreachable)
	}
	return nil
}

func (m *machine) off(now time.Time) {
	if m.fault == "early" || m.fault == "lie" {
		m.says = device.Off
	}
	switch m.fault {
	case "ignore", "lie":
	case "slow", "early":
		if m.offAt.IsZero() {
			m.offAt = now.Add(Delay)
		}
	default:
		m.isOff = true
	}
}

// errAlready is the error of a device that refuses a command with no effect.
var errAlready = fmt.Errorf("%w: it is so already", device.ErrConflict)

package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// State reads the power and the UUID of the system.
func (m *machine) State(ctx context.Context) (r device.Reading, err error) {
	err = m.talk(ctx, func(ctx context.Context, c *conversation) error {
		r, err = device.Arrived(ctx, c.state)
		return err
	})
	if err != nil {
		return device.Reading{}, err
	}
	return r, nil
}

func (c *conversation) state(ctx context.Context) (device.Reading, error) {
	s, err := c.system(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	p, err := c.power(s)
	if err != nil {
		return device.Reading{}, err
	}
	return device.Reading{Power: p, Identity: rest.Line(s.UUID)}, nil
}

// Off cuts the power at once.
func (m *machine) Off(ctx context.Context) error { return m.reset(ctx, "ForceOff", device.Off) }

// On switches it on.
func (m *machine) On(ctx context.Context) error { return m.reset(ctx, "On", device.On) }

// reset sends one command, once. It sends none to a system that is as wanted already (S9:
// read first, then act). A BMC may refuse because the system is as wanted. That is read,
// and not assumed.
func (m *machine) reset(ctx context.Context, word string, goal device.Power) error {
	return m.talk(ctx, func(ctx context.Context, c *conversation) error {
		s, err := c.system(ctx)
		if err != nil {
			return err
		}
		if c.settled(s, goal) {
			return nil
		}
		target, err := c.target(s, word)
		if err != nil {
			return err
		}
		_, err = c.do(ctx, "send "+word+" to "+s.uri, http.MethodPost, target, map[string]string{"ResetType": word})
		var no *refusal
		if !errors.As(err, &no) || (no.status != http.StatusBadRequest && no.status != http.StatusConflict) {
			return err
		}
		if now, rerr := c.system(ctx); rerr == nil && c.settled(now, goal) {
			return nil
		}
		return err
	})
}

// system is the part of a ComputerSystem that is used.
type system struct {
	Type       string `json:"@odata.type"`
	UUID       string
	PowerState string
	Status     struct{ State string }
	Actions    struct {
		Reset struct {
			Target string   `json:"target"`
			Types  []string `json:"ResetType@Redfish.AllowableValues"`
		} `json:"#ComputerSystem.Reset"`
	}
	// uri is where it was read.
	uri string
}

// powers are the powers of states. A state that leads to running is on; otherwise a system
// that hangs while it starts could never be switched off. A paused system keeps its memory
// and continues where it was (S2).
var powers = map[string]device.Power{
	"On":         device.On,
	"PoweringOn": device.On,
	"Paused":     device.On,
	"Off":        device.Off,
}

// away are the states of a system to which the service has no connection now. Its power
// state is then only remembered (S2).
var away = []string{"Absent", "UnavailableOffline"}

func (c *conversation) power(s *system) (device.Power, error) {
	p := powers[s.PowerState]
	switch {
	case slices.Contains(away, s.Status.State):
		return device.Unknown, c.errorf(device.ErrUnreachable, "the BMC calls system %s %s; its power can't be known", s.uri, s.Status.State)
	case s.PowerState == "PoweringOff": // whoever asked for it (S12), the system still runs (S2)
		return device.Unknown, c.errorf(device.ErrStopping, "system %s is PoweringOff", s.uri)
	case s.PowerState == "":
		return device.Unknown, c.errorf(device.ErrUnsupported, "the BMC does not tell the power state of system %s", s.uri)
	case p == device.Unknown:
		return device.Unknown, c.errorf(device.ErrUnsupported, "system %s is in power state %s, which this build does not know", s.uri, s.PowerState)
	}
	return p, nil
}

// there are the states in which no command is needed. A system that is powering off may
// still be shutting down slowly.
var there = map[device.Power][]string{device.Off: {"Off"}, device.On: {"On", "PoweringOn"}}

func (c *conversation) settled(s *system, goal device.Power) bool {
	_, err := c.power(s)
	return err == nil && slices.Contains(there[goal], s.PowerState)
}

// target is where the command is sent. A system that does not list the command would do
// something else, or nothing.
func (c *conversation) target(s *system, word string) (string, error) {
	reset := s.Actions.Reset
	switch {
	case reset.Target == "":
		return "", c.errorf(device.ErrUnsupported, "system %s has no action ComputerSystem.Reset", s.uri)
	case len(reset.Types) > 0 && !slices.Contains(reset.Types, word):
		return "", c.errorf(device.ErrUnsupported, "system %s does not take %s, only %s", s.uri, word, strings.Join(reset.Types, ", "))
	}
	return reset.Target, nil
}

// errorf is an error of one kind about this BMC.
func (c *conversation) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, c.m.at(), rest.Line(c.scrub(fmt.Sprintf(format, args...))))
}

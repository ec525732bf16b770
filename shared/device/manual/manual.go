package manual

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/nodefence/nodefence/shared/device"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "manual",
		Params: []device.Param{
			{Name: "machine", Required: true, Machine: true, Doc: "where a person finds the machine, such as hall 2, rack 7, place 12"},
			{Name: "contact", Doc: "who can switch it, such as a phone number; it is shown in the fence's record"},
		},
		Address: address,
		Open:    open,
	}
}

// machine is a machine, by the name that people use.
type machine struct{ name, contact string }

// address is manual:<machine> in small letters and with single blanks, so that two nodes
// with one machine are noticed.
func address(p map[string]string) (string, error) {
	m, err := parse(p)
	if err != nil {
		return "", err
	}
	return "manual:" + strings.ToLower(m.name), nil
}

func open(p map[string]string) (device.Driver, error) { return parse(p) }

// longest is more than the name of a place or person needs.
const longest = 120

func parse(p map[string]string) (*machine, error) {
	m := &machine{}
	for name, into := range map[string]*string{"machine": &m.name, "contact": &m.contact} {
		*into = strings.Join(strings.Fields(p[name]), " ")
		if len(*into) > longest || strings.ContainsFunc(*into, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return nil, fmt.Errorf("%s is longer than %d bytes, or can't be printed", name, longest)
		}
	}
	if m.name == "" {
		return nil, errors.New("machine is missing; say where a person finds it, such as hall 2, rack 7, place 12")
	}
	return m, nil
}

// say tells the reader of the record what to do.
func (m *machine) say(what string) error {
	who := "nobody but a person can"
	if m.contact != "" {
		who = "only " + m.contact + " can"
	}
	return fmt.Errorf("%w: machine %s: %s %s", device.ErrUnsupported, m.name, who, what)
}

// State is never known.
func (m *machine) State(context.Context) (device.Reading, error) {
	return device.Reading{}, m.say("tell whether it is off: switch it off by hand, see that it is, and say so in spec.requests.confirmOff")
}

// Off is for a person to do.
func (m *machine) Off(context.Context) error { return m.say("switch it off") }

// On is for a person to do.
func (m *machine) On(context.Context) error { return m.say("switch it on") }

package mem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nodefence/nodefence/shared/device"
)

// Delay is how long a slow device takes to cut the power, and how much too soon an early
// device says that the power is off.
const Delay = 5 * time.Second

// faults are the ways to misbehave, as prefixes of the machines' names.
var faults = []string{
	"hang",          // never answers
	"refuse",        // switches nothing
	"mute",          // switches nothing and does not tell the power
	"slow",          // cuts the power after Delay
	"ignore",        // accepts an off, to no effect
	"conflict",      // refuses what is so already
	"early",         // says off at once and is off after Delay
	"lie",           // says off and never is
	"wrongpassword", // lets nobody in
	"unreachable",   // isn't there
	"reset",         // has every other effect without an answer
	"other",         // tells another machine's identity
}

// Rack is a set of machines. Each exists, and is on, as soon as it is named.
type Rack struct {
	now func() time.Time

	mu       sync.Mutex
	machines map[string]*machine
}

// NewRack makes a rack with this clock.
func NewRack(now func() time.Time) *Rack {
	return &Rack{now: now, machines: map[string]*machine{}}
}

// Kind declares the driver for the rack's machines. It accepts any password: the name
// decides who is let in.
func (r *Rack) Kind() device.Kind {
	return device.Kind{
		Name: "mem",
		Params: []device.Param{
			{Name: "name", Required: true, Machine: true, Doc: "name of the machine"},
			{Name: "password", Secret: true, Doc: "any"},
		},
		EffectDelay: Delay,
		Address:     address,
		Hosts:       func(map[string]string) ([]string, error) { return []string{"127.0.0.1"}, nil }, // this process
		Open: func(params map[string]string) (device.Driver, error) {
			name, err := address(params)
			if err != nil {
				return nil, err
			}
			return &driver{rack: r, name: name}, nil
		},
	}
}

func address(params map[string]string) (string, error) {
	name := params["name"]
	if name == "" {
		return "", errors.New("name is missing")
	}
	if strings.ContainsFunc(name, unicode.IsSpace) {
		return "", fmt.Errorf("name %q has white space in it", name)
	}
	return name, nil
}

// On reports whether the machine really is on.
func (r *Rack) On(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine(name).on(r.now())
}

// Commands are the commands that the machine's device accepted, in order.
func (r *Rack) Commands(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.machine(name).commands)
}

// SetFault makes a machine's device misbehave in another way than its name says. An unknown
// fault makes it honest.
func (r *Rack) SetFault(name, fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machine(name)
	m.fault, m.says = fault, device.Unknown
}

// machine is the machine of that name. The caller holds the lock.
func (r *Rack) machine(name string) *machine {
	m, ok := r.machines[name]
	if !ok {
		m = &machine{}
		if fault, _, has := strings.Cut(name, "-"); has && slices.Contains(faults, fault) {
			m.fault = fault
		}
		r.machines[name] = m
	}
	return m
}

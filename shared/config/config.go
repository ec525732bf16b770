package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// ConfigMap is the part of a ConfigMap that this package uses.
type ConfigMap struct {
	Namespace, Name, ResourceVersion string
	Data                             map[string]string
	// Adopted: it stands for an object of another project, whose Secrets may have parameters that
	// the object has not. Which those are is known only when they are read.
	Adopted bool
}

// Node has the properties of a node that may choose its configuration. Labels and
// annotations other than the type may not: the node itself can write them (S11: the device
// is the node's own).
type Node struct {
	Name string
	// Type is the value of the label "type".
	Type string
	// Identity is what was enrolled as the machine: the system UUID, or what a person has
	// enrolled in its place; empty if nothing was.
	Identity string
	// IdentityFault says why Identity is not the machine's alone, to follow Identity in a
	// sentence; empty if it is the machine's.
	IdentityFault string
	// ProviderID is the cloud's name for the machine, as it was enrolled. It is never taken
	// from the present Node; empty if none was enrolled.
	ProviderID string
	// Enrolment names the object that has these two; empty if the node was not enrolled.
	Enrolment api.ConfigSource
}

// Settings are what this build can do.
type Settings struct {
	// Kinds are the drivers by name.
	Kinds map[string]device.Kind
	// Find makes a driver for an agent that has none; it may be nil.
	Find func(agent string) (device.Kind, error)
	// Job makes a driver that runs an agent in pods, for methods with job_image; it
	// may be nil.
	Job func(agent string) (device.Kind, error)
	// Agents are the drivers by agent name, with "_" in it and no "-".
	Agents map[string]string
	// Aliases are a driver's parameters, by the names that agents use for them.
	Aliases map[string]string
}

// Do is the action of a step.
type Do string

// The actions of steps. There is no reboot: it is an off, a look, and an on (S4: off, seen
// off, released, on).
const (
	Off               Do = "off"
	On                Do = "on"
	Status            Do = "status"
	MarkUnschedulable Do = "mark-unschedulable"
	MarkSchedulable   Do = "mark-schedulable"
	CleanPods         Do = "clean-pods"
	OutOfService      Do = "out-of-service"
	KdumpWait         Do = "kdump-wait"
	// Disconnect and Connect are the off and on of a device that cuts off storage or
	// network: the machine keeps running.
	Disconnect Do = "disconnect"
	Connect    Do = "connect"
)

// Step is one method of a plan.
type Step struct {
	// Method is the method's name in the ConfigMap.
	Method string `json:"method"`
	Do     Do     `json:"do"`
	// MustSucceed is the proposal's must_success. It only matters for devices that cut off
	// storage or network: every other step of a fence must succeed anyway.
	MustSucceed bool `json:"mustSucceed,omitempty"`
	// Skipped says why this build does not carry the step out; empty if it does.
	Skipped string `json:"skipped,omitempty"`
}

// Plan is how a node is fenced. It contains no secret (S29: no secret is shown).
type Plan struct {
	Isolation []Step `json:"isolation,omitempty"`
	Power     []Step `json:"power,omitempty"`
	// Recovery begins with the power-on, if power_management asked for one.
	Recovery []Step `json:"recovery,omitempty"`
	// Kdump says that a crash dump is waited for before the power is cut. kdump=enabled or
	// method kdump-wait asks for this.
	Kdump   bool        `json:"kdump,omitempty"`
	Binding api.Binding `json:"binding"`
	// Cut are the devices that cut off storage and network, in order. If nothing
	// else is bound, Binding names no driver.
	Cut []Cut `json:"cut,omitempty"`
	// Next are the further levels, in order.
	Next []Level `json:"next,omitempty"`
	// Origins say where each parameter of the binding is set, secret ones included.
	Origins map[string]string `json:"origins,omitempty"`
	// Notes tell a person what may be surprising in this plan: requests that are not
	// carried out, and actions that nobody asked for.
	Notes []string `json:"notes,omitempty"`
}

// Error is one fault and its place.
type Error struct {
	ConfigMap, Key string
	Line           int
	Msg            string
	// kind is for errors.Is; nil for most faults of a ConfigMap.
	kind error
}

// ErrNoBinding: no ConfigMap is about the node. Only then is the node's cloud used. A
// faulty ConfigMap is another error.
var ErrNoBinding = errors.New("no binding")

// Unwrap tells the kinds apart.
func (e *Error) Unwrap() error { return e.kind }

// Error is one line for an event or a condition.
func (e *Error) Error() string {
	var b strings.Builder
	if e.ConfigMap != "" {
		b.WriteString("ConfigMap " + e.ConfigMap)
	}
	if e.Key != "" {
		b.WriteString(", key " + e.Key)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d", e.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	return b.String() + e.Msg
}

// Cut is a device that cuts the node's machine off from storage or network.
type Cut struct {
	Method  string      `json:"method"`
	Binding api.Binding `json:"binding"`
	// Origins are like a plan's.
	Origins map[string]string `json:"origins,omitempty"`
}

// Cuts are the devices of the isolation, in order.
func (p Plan) Cuts() []api.Binding {
	var all []api.Binding
	for _, c := range p.Cut {
		all = append(all, c.Binding)
	}
	return all
}

// Devices are all devices that this plan calls, in order, with their names.
func (p Plan) Devices() []api.Binding {
	return api.Named(slices.Concat(p.Bindings(), p.Cuts())...)
}

// Level is another way to switch a node's machine, for when the level before can't show
// that the machine is off.
type Level struct {
	Power   []Step      `json:"power"`
	Binding api.Binding `json:"binding"`
	// Origins are like a plan's.
	Origins map[string]string `json:"origins,omitempty"`
}

// Bindings are the bindings of all levels; none if no device switches the machine.
func (p Plan) Bindings() []api.Binding {
	if p.Binding.Driver == "" {
		return nil
	}
	return append([]api.Binding{p.Binding}, p.NextBindings()...)
}

// NextBindings are the bindings after the first.
func (p Plan) NextBindings() []api.Binding {
	var all []api.Binding
	for _, l := range p.Next {
		all = append(all, l.Binding)
	}
	return all
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// ConfigMap is what of a ConfigMap matters here.
type ConfigMap struct {
	Namespace, Name, ResourceVersion string
	Data                             map[string]string
}

// Node is what of a node may choose its configuration. Labels and annotations
// other than the type may not: the node itself can write them (S11).
type Node struct {
	Name string
	// Type is the value of the label "type".
	Type string
	// Identity is the system UUID that was enrolled; empty if none was.
	Identity string
	// ProviderID is the cloud's name for the machine, as it was enrolled and
	// never as the Node has it now; empty if none was.
	ProviderID string
	// Enrolment is where these two stand; empty if the node was not enrolled.
	Enrolment api.ConfigSource
}

// Settings are what this build can do.
type Settings struct {
	// Kinds are the drivers by name.
	Kinds map[string]device.Kind
	// Find makes a driver of an agent for which there is none; it may be nil.
	Find func(agent string) (device.Kind, error)
	// Job makes a driver that runs an agent in pods, for methods with job_image; it
	// may be nil.
	Job func(agent string) (device.Kind, error)
	// Agents are the drivers by agent name, with "_" in it and no "-".
	Agents map[string]string
	// Aliases are a driver's parameters by the names that agents have for them.
	Aliases map[string]string
}

// Do is what a step does.
type Do string

// What steps do. There is no reboot: it is an off, a look, and an on (S4).
const (
	Off               Do = "off"
	On                Do = "on"
	Status            Do = "status"
	MarkUnschedulable Do = "mark-unschedulable"
	MarkSchedulable   Do = "mark-schedulable"
	CleanPods         Do = "clean-pods"
	OutOfService      Do = "out-of-service"
	KdumpWait         Do = "kdump-wait"
	// Disconnect and Connect are off and on of what cuts off storage or network: the
	// machine runs on.
	Disconnect Do = "disconnect"
	Connect    Do = "connect"
)

// Step is one method of a plan.
type Step struct {
	// Method is the name that the ConfigMap has for it.
	Method string `json:"method"`
	Do     Do     `json:"do"`
	// MustSucceed is the proposal's must_success. It matters for what cuts off storage
	// or network: everything else of a fence must succeed anyhow.
	MustSucceed bool `json:"mustSucceed,omitempty"`
	// Skipped says why this build does not carry the step out; empty if it does.
	Skipped string `json:"skipped,omitempty"`
}

// Plan is how a node is fenced. No secret is in it (S29).
type Plan struct {
	Isolation []Step `json:"isolation,omitempty"`
	Power     []Step `json:"power,omitempty"`
	// Recovery begins with the power-on, if power_management asked for one.
	Recovery []Step `json:"recovery,omitempty"`
	// Kdump: a dump is waited for before the power is cut, as kdump=enabled or
	// method kdump-wait asks.
	Kdump   bool        `json:"kdump,omitempty"`
	Binding api.Binding `json:"binding"`
	// Cut are the devices that cut off storage and network, in order. If nothing
	// else is bound, Binding names no driver.
	Cut []Cut `json:"cut,omitempty"`
	// Next are the further levels, in order.
	Next []Level `json:"next,omitempty"`
	// Origins say of each parameter of the binding, secret ones too, where it
	// stands.
	Origins map[string]string `json:"origins,omitempty"`
	// Notes are what a person should know of this plan: what it asks for and does
	// not get, and what is done without being asked for.
	Notes []string `json:"notes,omitempty"`
}

// Error says what is wrong and where.
type Error struct {
	ConfigMap, Key string
	Line           int
	Msg            string
	// kind is for errors.Is; mostly nil for what stands wrong in a ConfigMap.
	kind error
}

// ErrNoBinding is that no ConfigMap is about the node, as opposed to one that is
// wrong: only then does its cloud's own way take its place.
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

// The data keys.
const (
	configKey   = "config.properties"
	methodKey   = "method.properties"
	templateKey = "template.properties"
)

// resolver is one resolution.
type resolver struct {
	maps map[string]ConfigMap
	node Node
	s    Settings
	// sources are the ConfigMaps that were read, in the order of reading.
	sources []api.ConfigSource
}

func newResolver(maps []ConfigMap, n Node, s Settings) (*resolver, error) {
	r := &resolver{maps: make(map[string]ConfigMap, len(maps)), node: n, s: s}
	for _, m := range maps {
		if _, twice := r.maps[m.Name]; twice {
			return nil, &Error{ConfigMap: m.Name, Msg: "given twice"}
		}
		r.maps[m.Name] = m
	}
	return r, nil
}

// use notes that m was read.
func (r *resolver) use(m ConfigMap) {
	r.from(api.ConfigSource{Kind: api.KindConfigMap, Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion})
}

func (r *resolver) from(s api.ConfigSource) {
	if !slices.Contains(r.sources, s) {
		r.sources = append(r.sources, s)
	}
}

// Resolve reads the plan of a node from the ConfigMaps of the namespace.
func Resolve(maps []ConfigMap, n Node, s Settings) (Plan, error) {
	r, err := newResolver(maps, n, s)
	if err != nil {
		return Plan{}, err
	}
	from, err := r.choose()
	if errors.Is(err, ErrNoBinding) {
		from, err = r.byCloud(err)
	}
	if err != nil {
		return Plan{}, err
	}
	p, err := r.plan(from)
	if err != nil {
		return Plan{}, err
	}
	if words := tooLong(p.Devices()); words != "" {
		return Plan{}, from.at().errorf("%s", words)
	}
	return p, nil
}

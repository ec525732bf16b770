package far

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Device is what a spec says of one node's device.
type Device struct {
	Agent string
	// Params are the agent's parameters for this node, by their names on standard input.
	Params map[string]Param
	// LeaveOff: the action is off, and not a reboot.
	LeaveOff bool
	// Retries is how often a step is tried, at least once.
	Retries int32
	// Interval lies between two tries; Timeout is for each.
	Interval, Timeout time.Duration
	// SharedSecret and NodeSecret are the Secrets that have further parameters. NodeSecret is
	// empty if there is none. Optional: SharedSecret need not exist. It was not named, or it has the
	// name that older CRDs wrote into each object that named none, so that nobody may have chosen it.
	SharedSecret, NodeSecret string
	Optional                 bool
}

// Param is one parameter.
type Param struct {
	Value string
	// Field is where it is given.
	Field string
	// OfNode: its value is about this one node.
	OfNode bool
}

// Invalid is a fault of an object, by its field.
type Invalid struct{ Field, Message string }

func (i *Invalid) Error() string { return i.Field + ": " + i.Message }

func refuse(field, format string, args ...any) error {
	return &Invalid{field, fmt.Sprintf(format, args...)}
}

// The strategies.
const (
	ResourceDeletion  = "ResourceDeletion"
	OutOfServiceTaint = "OutOfServiceTaint"
)

// The fields of a spec.
const (
	shared = "spec.sharedparameters"
	ofNode = "spec.nodeparameters"
)

var (
	agentName = regexp.MustCompile(`^fence_[a-z0-9_]{1,58}$`)
	plainName = regexp.MustCompile(`^-?[a-z][a-z_-]{0,20}$`)
	flagName  = regexp.MustCompile(`^--[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
)

// Read is what a spec says of a node's device. Any fault is an Invalid: nothing is done by a spec
// that can be read in part only.
func Read(s Spec, node string) (Device, error) {
	d := Device{Agent: s.Agent, Params: map[string]Param{}, SharedSecret: DefaultSecret, Optional: true, NodeSecret: s.NodeSecretNames[node]}
	if !agentName.MatchString(s.Agent) {
		return d, refuse("spec.agent", "%.80q is not the name of a fence agent, such as fence_ipmilan", s.Agent)
	}
	if s.SharedSecretName != nil && *s.SharedSecretName != "" {
		d.SharedSecret, d.Optional = *s.SharedSecretName, *s.SharedSecretName == DefaultSecret
	}
	if _, err := s.Strategy(); err != nil {
		return d, err
	}
	for _, take := range []func(Spec) error{d.times, func(s Spec) error { return d.shared(s, node) }, func(s Spec) error { return d.ofNode(s, node) }, d.action} {
		if err := take(s); err != nil {
			return d, err
		}
	}
	for _, p := range d.Params {
		if p.OfNode {
			return d, nil
		}
	}
	return d, refuse("spec", "nothing in it is about node %s alone: give what chooses its machine in nodeparameters, or with {{.NodeName}} in sharedparameters", node)
}

// Strategy is the strategy in its one spelling.
func (s Spec) Strategy() (string, error) {
	switch s.RemediationStrategy {
	case "", ResourceDeletion:
		return ResourceDeletion, nil
	case OutOfServiceTaint:
		return OutOfServiceTaint, nil
	}
	return "", refuse("spec.remediationStrategy", "%.80q is none: write %s or %s", s.RemediationStrategy, ResourceDeletion, OutOfServiceTaint)
}

// mostRetries is what a policy takes.
const mostRetries = 100

func (d *Device) times(s Spec) (err error) {
	d.Retries = 5
	if n := s.RetryCount; n != nil {
		if *n < 0 {
			return refuse("spec.retrycount", "%d is less than 0", *n)
		}
		d.Retries = int32(min(max(*n, 1), mostRetries))
	}
	if d.Interval, err = duration("spec.retryinterval", s.RetryInterval, 5*time.Second); err == nil {
		d.Timeout, err = duration("spec.timeout", s.Timeout, time.Minute)
	}
	return err
}

func duration(field, text string, unset time.Duration) (time.Duration, error) {
	if text == "" {
		return unset, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, refuse(field, "%.40q is no duration, such as 60s", text)
	}
	return d, nil
}

// shared takes the parameters of all nodes, with the node's name filled in.
func (d *Device) shared(s Spec, node string) error {
	for _, name := range slices.Sorted(maps.Keys(s.SharedParameters)) {
		field := shared + "[" + name + "]"
		value, named, err := Render(s.SharedParameters[name], node)
		if err != nil {
			return refuse(field, "%v", err)
		}
		if err := d.put(name, Param{Value: value, Field: field, OfNode: named}, false); err != nil {
			return err
		}
	}
	return nil
}

// ofNode takes the node's own parameters, which win over the shared ones. They are taken as they
// are. A node that is missing while others are listed is refused: what the others have is not its
// own (S9, S11: a device is read first, and is the node's own).
func (d *Device) ofNode(s Spec, node string) error {
	listed, has := false, false
	for _, name := range slices.Sorted(maps.Keys(s.NodeParameters)) {
		nodes := s.NodeParameters[name]
		value, mine := nodes[node]
		_, alsoShared := s.SharedParameters[name]
		switch field := ofNode + "[" + name + "]"; {
		case mine:
			if err := d.put(name, Param{Value: value, Field: field + "[" + node + "]", OfNode: true}, true); err != nil {
				return err
			}
		case len(nodes) > 0 && !alsoShared:
			return refuse(field, "node %s is missing, and other nodes are listed: add it", node)
		}
		listed, has = listed || len(nodes) > 0, has || mine
	}
	if listed && !has {
		return refuse(ofNode, "node %s is missing, and other nodes are listed: add it", node)
	}
	return nil
}

// put takes one parameter. A bare flag, which has no value, is a yes on standard input.
func (d *Device) put(flag string, p Param, over bool) error {
	if !flagName.MatchString(flag) {
		is := "a key of it" // which may be anything, also a secret (S29)
		if plainName.MatchString(flag) {
			is = strconv.Quote(flag)
		}
		return refuse(p.Field[:strings.IndexByte(p.Field, '[')], "%s is no long flag, such as --ip", is)
	}
	switch {
	case !utf8.ValidString(p.Value) || strings.ContainsFunc(p.Value, unicode.IsControl):
		return refuse(p.Field, "the value has control characters or line breaks")
	case p.Value != strings.TrimSpace(p.Value):
		return refuse(p.Field, "the value begins or ends with a blank")
	}
	name := Name(flag)
	if slices.Contains(ours, name) {
		return refuse(p.Field, "it is no parameter of a fence agent")
	}
	if was, twice := d.Params[name]; twice && !over {
		return refuse(p.Field, "it is given as %s as well: delete one of them", was.Field)
	}
	if p.Value == "" && name != actionName {
		p.Value = "1"
	}
	d.Params[name] = p
	return nil
}

// Name is a long flag as the parameter's name on standard input.
func Name(flag string) string { return strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_") }

const actionName = "action"

// ours are words of nodefence's own configuration, which an object of others does not have.
var ours = []string{"agent_name", "job_image", "must_success", "must_sucess", "name", "namespace", "node_name", "secret", "settle", "template"}

// action takes the action out of the parameters.
func (d *Device) action(Spec) error {
	p, given := d.Params[actionName]
	delete(d.Params, actionName)
	switch p.Value {
	case "", "reboot":
		return nil
	case "off":
		d.LeaveOff = true
		return nil
	}
	if given {
		return refuse(p.Field, "the action is %.40q: only reboot and off are carried out", p.Value)
	}
	return nil
}

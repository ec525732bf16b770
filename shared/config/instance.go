package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/device"
)

// instances are the built-in methods that switch a cloud's instance, with the equivalent
// action of an agent.
var instances = map[string]string{"restart_instance": "reboot", "stop_instance": "off", "start_instance": "on", deleteMachine: "off"}

// deleteMachine ends the instance for good, and needs another driver.
const deleteMachine = "delete_machine"

// instanceStep adds a call to the instance that the node was enrolled as.
func (r *resolver) instanceStep(out *stage, at place, key, name, action string, s Step) error {
	k, why := r.knows(name == deleteMachine)
	if why != "" {
		return at.errorf("method %q switches the cloud's instance: %s; write a method with agent_name= and the machine in ConfigMap %s%s instead",
			s.Method, why, nodePrefix, r.node.Name)
	}
	m := &method{name: s.Method, at: at, values: map[string]entry{
		"action": {name: "action", written: "action", value: action, at: at},
	}}
	return r.deviceStep(out, key, m, k, s)
}

const noCloud = "this build has no driver for a cloud"

// cloud returns the driver that switches the node's instance, or why there is none.
func (r *resolver) cloud() (device.Kind, string) { return r.knows(false) }

// knows returns the driver that knows the node's instance, to switch it or to end it for
// good, or why there is none.
func (r *resolver) knows(end bool) (device.Kind, string) {
	var known []string
	for _, name := range slices.Sorted(maps.Keys(r.s.Kinds)) {
		k := r.s.Kinds[name]
		if k.Scope != device.ScopePower || (k.NoOn != "") != end {
			continue // a driver that can't switch on cannot restart the instance
		}
		if r.enrolled(k) != nil {
			return k, ""
		}
		if k.Cloud != nil {
			known = append(known, name)
		}
	}
	switch {
	case len(known) == 0:
		return device.Kind{}, noCloud
	case r.node.ProviderID == "":
		return device.Kind{}, "no provider ID was enrolled for node " + r.node.Name + " while it was healthy"
	}
	return device.Kind{}, "provider ID " + quoted(r.node.ProviderID) + ", with which node " + r.node.Name +
		" was enrolled, is no instance of a cloud that this build knows (" + strings.Join(known, ", ") + ")"
}

// enrolled returns the parameters that a driver reads from the node's provider ID; nil if
// the ID is not for this driver.
func (r *resolver) enrolled(k device.Kind) map[string]string {
	if k.Cloud == nil {
		return nil
	}
	p, ok := k.Cloud(r.node.ProviderID)
	if !ok {
		return nil
	}
	return p
}

// agree checks a ConfigMap against the enrolment: if they differ, one of them names another
// node's machine (S11: the device is the node's own).
func (r *resolver) agree(b *bound, m *method, k device.Kind, enrolled map[string]string) error {
	if enrolled == nil {
		return nil
	}
	if r.node.Enrolment.Name != "" {
		r.from(r.node.Enrolment)
	}
	p := maps.Clone(b.Params)
	maps.Copy(p, enrolled)
	if a, err := k.Address(p); err == nil && a != b.Address {
		return m.at.errorf("%s is not the machine that node %s was enrolled as, %s; leave the enrolled parameters out, or mend them", b.Address, r.node.Name, a)
	}
	return nil
}

// byCloud returns the plan of a node without any ConfigMap, on a cloud.
func (r *resolver) byCloud(none error) (source, error) {
	switch _, why := r.cloud(); why {
	case "":
	case noCloud:
		return source{}, none
	default:
		return source{}, &Error{Msg: none.Error() + "; and " + why, kind: ErrNoBinding}
	}
	cm := r.node.Enrolment.Name
	at := place{cm: cm, key: "provider_id"}
	return source{cm: ConfigMap{Name: cm}, lines: map[string]entry{
		isolation: {name: isolation, value: "mark-unschedulable", at: at},
		power:     {name: power, value: "restart-instance", at: at},
		recovery:  {name: recovery, value: "mark-schedulable", at: at},
	}}, nil
}

// Alike returns the enrolled nodes that have the same machine as n: one of the enrolments
// is wrong, and nothing here says which (S11).
func (c *Configs) Alike(n Node, mine api.Binding) []Node {
	k := c.s.Kinds[mine.Driver]
	var out []Node
	for _, o := range c.enrolled {
		p := c.resolver(o).enrolled(k)
		if o.Name != n.Name && (device.SameIdentity(p[k.Identity], mine.Identity) || addressed(k, p, mine.Address)) {
			out = append(out, o)
		}
	}
	return out
}

// addressed tells whether a provider ID's parameters lead to this address: not every cloud's
// ID has the name by which the instance tells who it is.
func addressed(k device.Kind, enrolled map[string]string, address string) bool {
	if enrolled == nil || k.Address == nil {
		return false
	}
	is, err := k.Address(enrolled)
	return err == nil && is == address
}

// quoted shortens and quotes a text that somebody else wrote.
func quoted(s string) string { return strconv.Quote(clip.To(80, s)) }

package config

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

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

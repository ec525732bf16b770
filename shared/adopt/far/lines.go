package far

import (
	"maps"
	"slices"
	"strings"
)

// Method is the name of the one method that a device becomes.
const Method = "far"

// Lines are the device as a node's configuration has it: its config.properties, the lines of its
// one method, and the field of the object from which each of those lines came.
func (d Device) Lines(node string) (config, method string, fields []string) {
	action := "reboot"
	if d.LeaveOff {
		action = "off"
	}
	lines := []string{"agent_name=" + d.Agent, "action=" + action}
	fields = []string{"spec.agent", shared + "[--action]"}
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		lines, fields = append(lines, name+"="+d.Params[name].Value), append(fields, d.Params[name].Field)
	}
	secret, field := d.SharedSecret, "spec.sharedSecretName"
	if d.NodeSecret != "" {
		secret, field = d.NodeSecret, "spec.nodeSecretNames["+node+"]"
	}
	lines, fields = append(lines, "secret="+secret), append(fields, field)
	return "node_name=" + node + "\npower_management=" + Method + "\n", strings.Join(lines, "\n") + "\n", fields
}

// Listed are the nodes that a spec names.
func Listed(s Spec) []string {
	all := map[string]bool{}
	for _, nodes := range s.NodeParameters {
		for node := range nodes {
			all[node] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/policy"
)

// The labels and taints that exclude a node are on its Node object, and are lost with it.
// The machine may still be fenced as the machine of a missing node. So the enrolment
// records the exclusion too, whether or not the node is Ready, and the gate reads it there.

// excludes notes which nodes a policy excludes by label.
func (n *nodeStore) excludes(policy string, nodes *api.ExcludedNodes) {
	var now *api.LabelSelector
	if nodes != nil {
		now = nodes.Selector
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.excluded[policy]
	if delete(n.excluded, policy); now != nil {
		n.excluded[policy] = now
	}
	if !equality.Semantic.DeepEqual(was, now) {
		n.excludeAllLocked()
	}
}

// exclude notes that the policies are known.
func (n *nodeStore) exclude() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.excluding = true
	n.excludeAllLocked()
}

// excludeAllLocked calls excludeLocked for each node.
func (n *nodeStore) excludeAllLocked() {
	for name, v := range n.known {
		n.excludeLocked(name, v)
	}
}

// excludeLocked makes the enrolment of an existing node say who excludes the node. The
// node's own label or taint is written without waiting for the policies: the Node may be
// deleted at any moment.
func (n *nodeStore) excludeLocked(name string, v nodeView) {
	if !n.excluding {
		n.enrol.exclude(name, wish{exclusion: exclusion{why: v.excluded, alsoOf: n.alsoOfLocked(name, v)}, whyOnly: true})
		return
	}
	var by []string
	for p, selector := range n.excluded {
		if policy.Selects(selector, v.labels) {
			by = append(by, p)
		}
	}
	slices.Sort(by)
	n.enrol.exclude(name, wish{exclusion: exclusion{v.excluded, strings.Join(by, " "), n.alsoOfLocked(name, v)}})
}

// alsoOfLocked returns another node that reports the same system UUID; empty if none does. It is
// the same one each time, so that an enrolment is not written without need.
func (n *nodeStore) alsoOfLocked(name string, v nodeView) string {
	var other string
	for o := range n.machines[machineKey(v.systemUUID)] {
		if o != name && (other == "" || o < other) {
			other = o
		}
	}
	return other
}

// machineKey is device.MachineKey of a system UUID; empty if the UUID names no machine, whoever
// reports it.
func machineKey(systemUUID string) string {
	if device.SystemUUIDFault(systemUUID, "") != "" {
		return ""
	}
	return device.MachineKey(systemUUID)
}

// mostTold is the largest number of nodes with one system UUID whose enrolments are all written anew when one of
// them changes. With more nodes an enrolment may name a node that reports another UUID since: the UUID is refused
// all the same.
const mostTold = 16

// moveLocked notes that a node reports another system UUID than before. The enrolments of the
// nodes that have either UUID follow.
func (n *nodeStore) moveLocked(name, was, is string) {
	from, to := machineKey(was), machineKey(is)
	if from == to {
		return
	}
	if delete(n.machines[from], name); len(n.machines[from]) == 0 {
		delete(n.machines, from)
	}
	if to != "" {
		if n.machines[to] == nil {
			n.machines[to] = map[string]bool{}
		}
		n.machines[to][name] = true
	}
	for _, key := range []string{from, to} {
		if len(n.machines[key]) > mostTold {
			continue
		}
		for o := range n.machines[key] {
			if v, known := n.known[o]; known && o != name {
				n.excludeLocked(o, v)
			}
		}
	}
}

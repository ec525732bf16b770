package admission

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// Picture is the picture on which one reservation is decided. NewPicture alone makes one,
// so that the gate, kubectl fence plan, the statuses and resync count one cluster in
// one way.
type Picture struct {
	Nodes   []Node
	Fences  []api.NodeFence
	Budgets []api.FenceBudget
	// Machines are the Machine objects, where policies expect nodes of them and policystatus
	// or resync asks: everybody else goes by what policystatus has written of them.
	Machines []policy.Machine
	// Uncounted are policies that more nodes are missing under than are kept, so that
	// nobody knows how many.
	Uncounted []string
	// Etcd is how etcd's members stand, by node; nil if it was not learnt.
	Etcd map[string]bool
	// EtcdFrom says, of those that are not healthy, by what they are known as members.
	EtcdFrom map[string]string
	// EtcdLists are the nodes that other policies than the fence's own list under
	// spec.controlPlane.etcdNodeNames, by policy: each may be an etcd of its own.
	EtcdLists map[string][]string
	// EtcdSeen are the nodes of etcd's members as its static pods show them, for the status
	// of a policy that lists some; EtcdUnread that the pods were to be read and could not be.
	EtcdSeen []string
	// EtcdSeenBy is by what those of them are known of which no healthy pod is there.
	EtcdSeenBy map[string]string
	EtcdUnread bool
	// Apart is how far the clocks of two API servers were seen to lie apart, beyond
	// what every reservation allows for.
	Apart time.Duration
	// Zones are those that the policies' pause windows name, for the status of policies.
	Zones policy.Zones
	// AsOf is a time of which the fences show everything; that of the decision where it is
	// zero.
	AsOf time.Time
}

// Node is what counting needs of a node.
type Node struct {
	Name   string
	UID    types.UID
	Labels map[string]string
	// Unhealthy: Ready is not True.
	Unhealthy bool
	// NotReady is that as evidence of a fence, for the status of policies; nil where the Node
	// object was not read, or says nothing of Ready.
	NotReady     *api.Evidence
	ControlPlane bool
	// Identity shows of which Machine the node may be; empty where the Node was not listed.
	Identity policy.NodeIdentity
	observed.Plans
	// Under are the policies that count this node though it has no Node object.
	Under []string
	// Alike is how many healthy nodes this stands for, of which only the labels are known;
	// 0 where it is one node, with a name.
	Alike int
}

// many is how many nodes it stands for.
func (n Node) many() int { return max(1, n.Alike) }

// NewPicture is what was read as every decision counts it: with the nodes that are missing
// (S14, S15).
func NewPicture(o Observed) Picture {
	return withMissing(Picture{
		Nodes: o.Nodes, Fences: o.Fences, Budgets: o.Budgets, Machines: o.Machines,
		Etcd: o.Etcd.Members, EtcdFrom: o.Etcd.From, EtcdLists: o.Etcd.Lists,
		EtcdSeen: o.Etcd.Shown, EtcdSeenBy: o.Etcd.ShownBy, EtcdUnread: o.Etcd.Unread,
		Apart: o.Apart, Zones: o.Zones, AsOf: o.AsOf,
	}, o.Policies)
}

// present is what is there, without what is missing.
func (o Observed) present() Picture {
	return Picture{Nodes: o.Nodes, Fences: o.Fences, Machines: o.Machines}
}

// withMissing adds the nodes that are missing to those that are counted: they are
// unhealthy nodes of the policies under which they are expected or fenced (S14). All
// of the policies' count at once, however short they have been missing: whoever
// deleted one Node object may be deleting them all (S15).
func withMissing(c Picture, policies []api.FencePolicy) Picture {
	under := map[string][]string{}
	for i := range c.Fences {
		if f := &c.Fences[i]; f.Open() && f.Status.Decision.Trigger.Missing() {
			for _, l := range f.Status.Decision.Limits {
				under[f.Spec.NodeName] = append(under[f.Spec.NodeName], l.Policy)
			}
		}
	}
	for _, p := range policies {
		if n := len(p.Status.Missing); n >= maxHeld && p.Status.Missing[n-1].NodeName != "" {
			c.Uncounted = append(c.Uncounted, p.Name)
		}
		for _, m := range p.Status.Missing {
			under[m.NodeName] = append(under[m.NodeName], p.Name)
		}
		if n := len(p.Status.FailedMachines); n >= maxHeld && p.Status.FailedMachines[n-1].NodeName != "" {
			c.Uncounted = append(c.Uncounted, p.Name)
		}
		for _, m := range p.Status.FailedMachines {
			if m.NodeName == "" && p.Spec.Machines.Deletes() {
				under[m.Record()] = append(under[m.Record()], p.Name)
			}
		}
		c = c.withFailed(p.Status.FailedMachines)
	}
	delete(under, "")
	for _, n := range c.Nodes {
		delete(under, n.Name)
	}
	c.Nodes = slices.Clip(c.Nodes)
	for _, node := range slices.Sorted(maps.Keys(under)) {
		c.Nodes = append(c.Nodes, Node{Name: node, Unhealthy: true, Under: under[node]})
	}
	return c
}

// uncounted says why nobody knows how many nodes are missing under a policy; empty if
// somebody does.
func (c Picture) uncounted(policy string) string {
	if !slices.Contains(c.Uncounted, policy) {
		return ""
	}
	return fmt.Sprintf("%d nodes or more that policy %s expects have no Node object, or a Machine that failed: too many to count", maxHeld, policy)
}

// hasNode tells whether there is a Node object of the name.
func (c Picture) hasNode(name string) bool {
	return slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Name == name && n.Under == nil })
}

// identities are those of the Nodes that were listed; none if some Nodes were only counted.
func (c Picture) identities() (all []policy.NodeIdentity) {
	for _, n := range c.Nodes {
		switch {
		case n.Under != nil: // it has no Node object
		case n.Identity.Name == "":
			return nil
		default:
			all = append(all, n.Identity)
		}
	}
	return all
}

func (c Picture) labels(node string) map[string]string {
	for _, n := range c.Nodes {
		if n.Name == node {
			return n.Labels
		}
	}
	return nil
}

// node is one of those that are counted; without labels if it is none.
func (c Picture) node(name string) Node {
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	return Node{Name: name}
}

func (c Picture) fence(node string) *api.NodeFence {
	for i := range c.Fences {
		if c.Fences[i].Spec.NodeName == node {
			return &c.Fences[i]
		}
	}
	return nil
}

// nodeOf is the node of a fence, if it is known by its Node object. That of a fence which
// was opened because there is none never had any labels.
func (c Picture) nodeOf(f *api.NodeFence) (n Node, known bool) {
	if n = c.node(f.Spec.NodeName); c.has(f.Spec.NodeName) && n.Under == nil {
		return n, true
	}
	return Node{Name: f.Spec.NodeName}, f.Status.Decision.NodeUID == ""
}

// withFailed counts the nodes of failed Machines as unhealthy, those too that are
// left alone or wait (S14).
func (c Picture) withFailed(failed []api.FailedMachine) Picture {
	bad := map[string]bool{}
	for _, m := range failed {
		bad[m.NodeName] = true
	}
	delete(bad, "") // a Machine without a node; nodes that are alike have no name either
	if len(bad) == 0 {
		return c
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Unhealthy = c.Nodes[i].Unhealthy || bad[c.Nodes[i].Name]
	}
	return c
}

func (c Picture) has(node string) bool {
	return slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Name == node })
}

// Observed is what was read of a cluster.
type Observed struct {
	Nodes   []Node
	Fences  []api.NodeFence
	Budgets []api.FenceBudget
	// Policies have in their status what is missing, and which Machines failed.
	Policies []api.FencePolicy
	Machines []policy.Machine
	// MachinesUnread: they were to be read and could not be.
	MachinesUnread bool
	Etcd           EtcdObserved
	// Apart is how far the clocks of two API servers were seen to lie apart, beyond
	// what every reservation allows for.
	Apart time.Duration
	// Zones are those that the policies' pause windows name, for the status of policies.
	Zones policy.Zones
	// AsOf is as in Picture.
	AsOf time.Time
}

// EtcdObserved is what was read of etcd.
type EtcdObserved struct {
	// Members are how those stand that decide about one fence, and From by what those are
	// known that are not healthy.
	Members map[string]bool
	From    map[string]string
	// Lists are what other policies than the fence's own list.
	Lists map[string][]string
	// Shown are the members that static pods show, and ShownBy by what those of them are
	// known of which no healthy pod is there: for the status of policies.
	Shown   []string
	ShownBy map[string]string
	// Unread: the pods were to be read and could not be.
	Unread bool
}

package config

import (
	"sync"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Configs are all ConfigMaps of the namespace and all enrolments, read by one build. What follows from them
// for every node alike, such as which nodes have a device's address, is worked out once, when it is first
// asked for, so that resolving all nodes takes time in proportion to their number, not to its square. Nobody
// may change what they were made of. They may be used by many at once.
type Configs struct {
	*known
	s Settings
}

// known is what all who use them share.
type known struct {
	maps map[string]ConfigMap
	// twice is why they can't be read: a ConfigMap is given twice.
	twice       error
	enrolled    []Node
	enrolmentOf map[string]Node
	// claims are those of all nodes, and clouds are what each of them says of clouds' instances.
	claims  func() []claim
	clouds  func() [][]cloudDevice
	claimed claimed
}

// claimed finds claims by the address of a device. An agent that has no driver is asked which parameters it
// has, and may fail to tell: then what its node has is not known, and the agent is asked again with each
// question, so that no device of two nodes is missed (S11: the device is the node's own).
type claimed struct {
	first sync.Once
	mu    sync.Mutex
	by    map[string][]int
	// unread has the claims of which an agent did not tell.
	unread map[int]bool
}

// With are the same ones, asked with other settings. These may differ in nothing but in what they note of
// agents that are asked.
func (c *Configs) With(s Settings) *Configs { return &Configs{known: c.known, s: s} }

// resolver resolves one of their nodes.
func (c *Configs) resolver(n Node) *resolver { return &resolver{maps: c.maps, node: n, s: c.s} }

// enrolledAs resolves a node by its enrolment, if it has one.
func (c *Configs) enrolledAs(name string) *resolver {
	if n, ok := c.enrolmentOf[name]; ok {
		return c.resolver(n)
	}
	return c.resolver(Node{Name: name})
}

// sourceNames are the ConfigMaps that bindings were made of.
func sourceNames(all []api.Binding) (names []string) {
	for _, b := range all {
		for _, src := range b.Sources {
			names = append(names, src.Name)
		}
	}
	return names
}

// claim is another node's configuration for a machine.
type claim struct {
	node string
	// config names the methods; cm is about that node.
	config source
	cm     string
	names  []string
}

// cloudDevice is what a method says of a cloud's instance: by which driver, and whether it names a part of
// its machine.
type cloudDevice struct {
	driver string
	names  bool
}

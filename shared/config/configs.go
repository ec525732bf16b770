package config

import (
	"slices"
	"sync"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Configs are all ConfigMaps of the namespace and all enrolments, read by one build. What follows from them
// for every node alike, such as whose device has which address, is worked out once, when it is first asked
// for: so a cluster's nodes cost as much as they are, and not each as much as all. Nobody may change what
// they were made of. They may be used by many at once.
type Configs struct {
	maps map[string]ConfigMap
	// twice is why they can't be read: a ConfigMap is given twice.
	twice       error
	enrolled    []Node
	enrolmentOf map[string]Node
	s           Settings
	// claims are those of all nodes, and claimed are the indices of those that lead to a device's address.
	claims  func() []claim
	claimed func() map[string][]int
	// clouds are what each claim says of clouds' instances.
	clouds func() [][]cloudDevice
}

// Of prepares them.
func Of(all []ConfigMap, enrolled []Node, s Settings) *Configs {
	c := &Configs{maps: make(map[string]ConfigMap, len(all)), enrolled: enrolled, enrolmentOf: make(map[string]Node, len(enrolled)), s: s}
	for _, m := range all {
		if _, twice := c.maps[m.Name]; twice && c.twice == nil {
			c.twice = &Error{ConfigMap: m.Name, Msg: "given twice"}
		}
		c.maps[m.Name] = m
	}
	for _, n := range slices.Backward(enrolled) {
		c.enrolmentOf[n.Name] = n // the first counts
	}
	c.claims = sync.OnceValue(c.resolver(Node{}).claims)
	c.claimed = sync.OnceValue(c.byAddress)
	c.clouds = sync.OnceValue(c.cloudDevices)
	return c
}

// resolver resolves one of their nodes.
func (c *Configs) resolver(n Node) *resolver { return &resolver{maps: c.maps, node: n, s: c.s} }

// enrolledAs resolves a node by its enrolment, if it has one.
func (c *Configs) enrolledAs(name string) *resolver {
	if n, ok := c.enrolmentOf[name]; ok {
		return c.resolver(n)
	}
	return c.resolver(Node{Name: name})
}

// byAddress finds the claims that lead to each address.
func (c *Configs) byAddress() map[string][]int {
	out := map[string][]int{}
	for i, is := range c.claims() {
		for _, address := range c.enrolledAs(is.node).addresses(is) {
			out[address] = append(out[address], i)
		}
	}
	return out
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

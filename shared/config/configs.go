package config

import (
	"maps"
	"slices"
	"sync"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
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

// Of prepares them.
func Of(all []ConfigMap, enrolled []Node, s Settings) *Configs {
	c := &Configs{known: &known{maps: make(map[string]ConfigMap, len(all)), enrolled: enrolled, enrolmentOf: make(map[string]Node, len(enrolled))}, s: s}
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
	c.clouds = sync.OnceValue(c.cloudDevices)
	c.claimed.by, c.claimed.unread = map[string][]int{}, map[int]bool{}
	return c
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

// claimants are the claims that lead to one of these addresses, in the order of all claims.
func (c *Configs) claimants(addresses []string) (at []int) {
	k := &c.claimed
	k.first.Do(func() {
		all := make([]int, len(c.claims()))
		for i := range all {
			all[i] = i
		}
		c.learn(all)
	})
	k.mu.Lock()
	again := slices.Sorted(maps.Keys(k.unread))
	k.mu.Unlock()
	c.learn(again)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, address := range addresses {
		at = append(at, k.by[address]...)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// learn reads claims, and notes of which of them an agent did not tell.
func (c *Configs) learn(claims []int) {
	addresses, told := make([][]string, len(claims)), make([]bool, len(claims))
	for i, n := range claims {
		is := c.claims()[n]
		r := c.enrolledAs(is.node)
		told[i] = true
		r.s.Find, r.s.Job = noting(r.s.Find, &told[i]), noting(r.s.Job, &told[i])
		addresses[i] = r.addresses(is)
	}
	k := &c.claimed
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, n := range claims {
		for _, a := range addresses[i] {
			if !slices.Contains(k.by[a], n) {
				k.by[a] = append(k.by[a], n)
			}
		}
		if told[i] {
			delete(k.unread, n)
		} else {
			k.unread[n] = true
		}
	}
}

// noting asks for an agent, and notes if it did not tell.
func noting(find func(string) (device.Kind, error), told *bool) func(string) (device.Kind, error) {
	if find == nil {
		return nil
	}
	return func(agent string) (device.Kind, error) {
		k, err := find(agent)
		*told = *told && err == nil
		return k, err
	}
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

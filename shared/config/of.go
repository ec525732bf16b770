package config

import (
	"maps"
	"slices"
	"sync"

	"github.com/nodefence/nodefence/shared/device"
)

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

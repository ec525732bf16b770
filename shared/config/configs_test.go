package config

import (
	"fmt"
	"strconv"
	"testing"
)

// TestANodeCostsNoMoreWithManyOthers: where one after the other is resolved by the same ConfigMaps, each
// node's methods are read as often as its own questions ask for them, and not once more for each other node.
func TestANodeCostsNoMoreWithManyOthers(t *testing.T) {
	reads := func(nodes int) int {
		s, n := settings(), 0
		bmc := s.Kinds["bmc"]
		inner := bmc.Address
		bmc.Address = func(p map[string]string) (string, error) { n++; return inner(p) }
		s.Kinds["bmc"] = bmc
		all := []ConfigMap{configMap("fence-config-default", "config.properties", "power_management=ipmi")}
		var enrolled []Node
		for i := range nodes {
			name := strconv.Itoa(i)
			all = append(all, configMap("fence-method-ipmi-"+name, "method.properties", text("agent_name=fence_bmc", fmt.Sprint("ip=10.0.", i/250, ".", i%250+1), "username=u", "secret=s")))
			enrolled = append(enrolled, Node{Name: name, Identity: "id-" + name})
		}
		c := Of(all, enrolled, s)
		for _, node := range enrolled {
			p, err := c.Resolve(node)
			if err == nil {
				err = c.Duplicates(node, p.Devices()...)
			}
			if err != nil || !c.Apart(node, p.Devices()...) || len(c.Alike(node, p.Binding)) > 0 {
				t.Fatalf("node %s: %+v, %v", node.Name, p, err)
			}
		}
		return n
	}
	if few, many := reads(10), reads(300); few == 0 || many > 30*few {
		t.Errorf("10 nodes' methods are read %d times, and 300 nodes' %d times", few, many)
	}
}

// TestTwoOfOneNameAreRefused, whatever is asked.
func TestTwoOfOneNameAreRefused(t *testing.T) {
	c := Of([]ConfigMap{configMap("a"), configMap("b"), configMap("a")}, nil, settings())
	_, plan := c.Resolve(node7)
	_, cluster := c.Cluster()
	for asked, err := range map[string]error{"a plan": plan, "the cluster": cluster, "duplicates": c.Duplicates(node7)} {
		if err == nil || err.Error() != "ConfigMap a: given twice" {
			t.Errorf("%s: %v", asked, err)
		}
	}
	if c.Apart(node7) {
		t.Error("they are one of each name")
	}
}

package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
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

// TestAnAgentThatDoesNotTellHidesNoDevice: which parameters it has was not known when the ConfigMaps were
// first gone through. It is asked again with each question, and once it has told it is asked no more (S11:
// the device is the node's own).
func TestAnAgentThatDoesNotTellHidesNoDevice(t *testing.T) {
	s, asked, silent := settings(), 0, true
	s.Find = func(agent string) (device.Kind, error) {
		if asked++; silent {
			return device.Kind{}, errors.New("fork: no memory")
		}
		return outlets(agent), nil
	}
	has := func(name, agent string) ConfigMap {
		return configMap("fence-config-node-"+name, "config.properties", "node_name="+name+"\npower_management=m", "fence-method-m", "agent_name="+agent+"\nip=10.0.0.8\nplug=3\nusername=u\nsecret=s")
	}
	bmc := configMap("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", good)
	c := Of([]ConfigMap{bmc, has("x", "fence_two"), has("y", "fence_two")}, nil, s)
	a, err := c.Resolve(Node{Name: "a"})
	if err == nil {
		err = c.Duplicates(Node{Name: "a"}, a.Devices()...)
	}
	if err != nil || asked == 0 {
		t.Fatalf("node a: %v, and the agent was asked %d times", err, asked)
	}
	silent = false
	x, err := c.Resolve(Node{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		asked = 0
		if err := c.Duplicates(Node{Name: "x"}, x.Devices()...); err == nil || !strings.Contains(err.Error(), "node y has the same device address") {
			t.Errorf("node x: %v", err)
		}
	}
	if asked > 2 { // of x, and of y
		t.Errorf("an agent that has told is asked %d times for one question", asked)
	}
}

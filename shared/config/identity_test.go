package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
)

const (
	uuid7 = "00112233-4455-6677-8899-aabbccddeeff"
	uuid8 = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
)

// TestIdentityOfAMethod: what a method of the node's own names wins over what was enrolled, in
// one spelling, for each device of a set; a line that may be about another machine is refused
// (S11: the device is the node's own).
func TestIdentityOfAMethod(t *testing.T) {
	const at = "ConfigMap fence-config-node-7, key fence-method-ipmi, line 6: "
	doubtful := Node{Name: "7", Identity: "uuid-7", IdentityFault: "is shared"}
	inMethod := configMap("fence-method-ipmi-7", "method.properties", good+"\nidentity="+uuid7)
	second := strings.NewReplacer("10.0.0.7", "10.0.1.7").Replace(good)
	of := func(line string) []ConfigMap { return []ConfigMap{own(config, good+"\nidentity="+line)} }
	for name, tc := range map[string]struct {
		maps            []ConfigMap
		identity, fault string
		err             string
	}{
		"none":                     {maps: []ConfigMap{own(config, good)}, identity: "uuid-7", fault: "is shared"},
		"in capitals":              {maps: of(strings.ToUpper(uuid7)), identity: uuid7},
		"without dashes":           {maps: of(strings.ReplaceAll(uuid7, "-", "")), identity: uuid7},
		"no UUID":                  {maps: of("SN-0007"), identity: "SN-0007"},
		"of a method of this node": {maps: []ConfigMap{configMap("fence-config-default", "config.properties", "power_management=ipmi"), inMethod}, identity: uuid7},
		"of one device of a set": {maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=a b",
			"fence-method-a", good, "fence-method-b", second+"\nidentity="+uuid7)}, identity: uuid7},
		"two of one set": {maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=a b",
			"fence-method-a", good+"\nidentity="+uuid8, "fence-method-b", second+"\nidentity="+uuid7)},
			err: "ConfigMap fence-config-node-7, key config.properties: methods a and b have devices that identify a machine in different ways, bmc 10.0.0.7:623 and bmc 10.0.1.7:623; they can't form a set"},
		"a factory default": {maps: of("03000200-0400-0500-0006-000700080009"),
			err: at + `identity "03000200-0400-0500-0006-000700080009" is a factory default that many machines have; give the identity of this machine alone, or leave identity= out`},
		"of many nodes": {maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config, "fence-method-ipmi", good+"\ntemplate=t"), configMap("t", "template.properties", "identity="+uuid7)},
			err: "ConfigMap t, key template.properties, line 1: \"identity\" says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap fence-config-node-7 or fence-method-ipmi-7"},
		"of an instance of a cloud": {maps: []ConfigMap{own(config, "agent_name=fence_vm\naction=off\nidentity="+uuid7)},
			err: "ConfigMap fence-config-node-7, key fence-method-ipmi, line 3: driver vm knows its machine by id; leave identity= out"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings()
			s.Kinds["vm"] = device.Kind{Name: "vm", Identity: "id", Params: []device.Param{{Name: "id", Machine: true}}}
			s.Agents["fence_vm"] = "vm"
			p, err := resolved(tc.maps, doubtful, s)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]string{tc.identity, tc.fault, tc.err}, []string{p.Binding.Identity, p.Binding.IdentityFault, text}); d != "" {
				t.Error(d)
			}
			for _, m := range p.Binding.Members {
				if m.Identity != tc.identity {
					t.Errorf("a device of the set must answer for %s", m.Identity)
				}
			}
		})
	}
}

// TestOneIdentityOfTwoNodes: both are refused, in whatever order of bytes (S11).
func TestOneIdentityOfTwoNodes(t *testing.T) {
	const swapped = "33221100-5544-7766-8899-aabbccddeeff"
	other := func(identity string) ConfigMap {
		return configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=ipmi",
			"fence-method-ipmi", strings.Replace(good, "10.0.0.7", "10.0.0.8", 1)+identity)
	}
	const says = "ConfigMap fence-config-node-8: node 8 has an identity= that is the machine of node 7 too (00112233445566778899aabbccddeeff); neither of them is fenced before one is mended"
	for name, tc := range map[string]struct {
		mine, enrolled, theirs, want string
	}{
		"the same":                         {"\nidentity=" + uuid7, "", "\nidentity=" + uuid7, says},
		"in another order of the bytes":    {"\nidentity=" + uuid7, "", "\nidentity=" + swapped, says},
		"what this node was enrolled as":   {"", uuid7, "\nidentity=" + swapped, says},
		"two":                              {"\nidentity=" + uuid7, "", "\nidentity=" + uuid8, ""},
		"named, in place of the same UUID": {"\nidentity=" + uuid8, uuid7, "\nidentity=" + uuid7, ""},
	} {
		n := Node{Name: "7", Identity: tc.enrolled}
		maps := []ConfigMap{own(config, good+tc.mine), other(tc.theirs)}
		p, err := resolved(maps, n, settings())
		if err != nil {
			t.Fatal(name, err)
		}
		text := ""
		if err := duplicates(maps, nil, settings(), n, p.Binding); err != nil {
			text = err.Error()
		}
		if d := cmp.Diff(tc.want, text); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

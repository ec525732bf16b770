package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// fabrics has drivers that cut off storage and network besides, of which disks has no
// word that gives access back.
func fabrics() Settings {
	s := settings()
	s.Kinds = maps.Clone(s.Kinds)
	add := func(name string, scope device.Scope, noOn string) {
		s.Kinds[name] = device.Kind{
			Name: name, Scope: scope, NoOn: noOn, EffectDelay: 2 * time.Second,
			Params:  []device.Param{{Name: "port", Required: true, Machine: true}, {Name: "password", Secret: true}},
			Address: func(p map[string]string) (string, error) { return name + "#" + p["port"], nil },
		}
	}
	add("san", device.ScopeStorage, "")
	add("disks", device.ScopeStorage, "the machine registers itself")
	add("switch", device.ScopeNetwork, "")
	many := s.Kinds["san"]
	many.Name, many.Address = "many", func(p map[string]string) (string, error) { return "many#" + p["port"], nil }
	many.Each = func(address string) (all []string) {
		for _, port := range strings.Split(strings.TrimPrefix(address, "many#"), ",") {
			all = append(all, "many#"+port)
		}
		return all
	}
	s.Kinds["many"] = many
	return s
}

// cutNode is node 7's ConfigMap with these lines and methods besides a BMC's.
func cutNode(props string, methods ...string) ConfigMap {
	m := own("node_name=7\n"+props, good)
	for i := 0; i < len(methods); i += 2 {
		m.Data["fence-method-"+methods[i]] = methods[i+1]
	}
	return m
}

const sanMethod = "agent_name=san\nport=7\nmust_success=yes\nstorage_classes=fast, slow\ncsi_drivers=d.example"

func TestCuts(t *testing.T) {
	san := api.Binding{
		Driver: "san", Address: "san#7", Params: map[string]string{"port": "7"}, Identity: "uuid-7", EffectDelay: metav1.Duration{Duration: 2 * time.Second},
		Role: api.RoleStorage, Must: true, Covers: &api.Coverage{StorageClassNames: []string{"fast", "slow"}, CSIDriverNames: []string{"d.example"}},
		Sources: read("fence-config-node-7@1"),
	}
	net := api.Binding{
		Driver: "switch", Address: "switch#3", Params: map[string]string{"port": "3"}, Identity: "uuid-7", EffectDelay: san.EffectDelay,
		Role: api.RoleNetwork, Sources: san.Sources,
	}
	disks := san
	disks.Driver, disks.Address, disks.LeaveOff, disks.Covers = "disks", "disks#7", true, nil
	for name, tc := range map[string]struct {
		maps  []ConfigMap
		want  []api.Binding
		power string
		steps []Step
		err   string
	}{
		"storage and network before the power, in order": {
			maps: []ConfigMap{cutNode("isolation=cordon storage-isolate net\npower_management=ipmi\nrecovery=net storage-isolate uncordon",
				"storage-isolate", sanMethod, "net", "agent_name=switch\nport=3")},
			want: []api.Binding{san, net}, power: "bmc",
			steps: []Step{{Method: "cordon", Do: MarkUnschedulable}, {Method: "storage-isolate", Do: Disconnect, MustSucceed: true}, {Method: "net", Do: Disconnect}},
		},
		"where nothing switches the machine, storage that must be cut stands in": {
			maps: []ConfigMap{cutNode("isolation=s", "s", sanMethod)}, want: []api.Binding{san},
			steps: []Step{{Method: "s", Do: Disconnect, MustSucceed: true}},
		},
		"what gives nothing back says so": {
			maps: []ConfigMap{cutNode("isolation=s\npower_management=ipmi", "s", "agent_name=disks\nport=7\nmust_success=yes")},
			want: []api.Binding{disks}, power: "bmc", steps: []Step{{Method: "s", Do: Disconnect, MustSucceed: true}},
		},
		"storage that need not be cut proves nothing": {
			maps: []ConfigMap{cutNode("isolation=s", "s", "agent_name=san\nport=7\ncsi_drivers=d")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ": nothing in power_management can prove the machine off: it has no method that switches a device off",
		},
		"storage that covers nothing proves nothing": {
			maps: []ConfigMap{cutNode("isolation=s", "s", "agent_name=san\nport=7\nmust_success=yes")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ": nothing in power_management can prove the machine off: it has no method that switches a device off",
		},
		"a network that must be cut proves nothing": {
			maps: []ConfigMap{cutNode("isolation=s", "s", "agent_name=switch\nport=7\nmust_success=yes")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ": nothing in power_management can prove the machine off: it has no method that switches a device off",
		},
		"storage in power_management": {
			maps: []ConfigMap{cutNode("power_management=s", "s", "agent_name=san\nport=7\naction=off")},
			err:  `ConfigMap fence-config-node-7, key fence-method-s: method "s": driver san cuts off storage, and the machine runs on; it belongs in isolation`,
		},
		"the wrong way round": {
			maps: []ConfigMap{cutNode("isolation=s\npower_management=ipmi", "s", "agent_name=san\nport=7\naction=on")},
			err:  `ConfigMap fence-config-node-7, key fence-method-s: method "s": in isolation its action is off, in recovery it is on`,
		},
		"back what was never cut": {
			maps: []ConfigMap{cutNode("power_management=ipmi\nrecovery=s", "s", "agent_name=san\nport=7")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ": method s gives back access that no method of isolation cuts off, san san#7",
		},
		"back by what can't": {
			maps: []ConfigMap{cutNode("isolation=s\npower_management=ipmi\nrecovery=s", "s", "agent_name=disks\nport=7")},
			err:  `ConfigMap fence-config-node-7, key fence-method-s: method "s" gives access back, and driver disks can't: the machine registers itself; leave it out of recovery`,
		},
		"one port twice": {
			maps: []ConfigMap{cutNode("isolation=s t\npower_management=ipmi", "s", "agent_name=san\nport=7", "t", "agent_name=san\nport=7")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ": methods s and t cut off access by the same device, san san#7; leave one of them out",
		},
		"a name that says storage, and a switch": {
			maps: []ConfigMap{cutNode("isolation=storage-isolate\npower_management=ipmi", "storage-isolate", "agent_name=switch\nport=7")},
			err:  `ConfigMap fence-config-node-7, key fence-method-storage-isolate: method "storage-isolate" takes a device that cuts off storage, and its agent_name names no such device`,
		},
		"a name without its method": {
			maps: []ConfigMap{cutNode("isolation=network-isolate\npower_management=ipmi")},
			err:  "ConfigMap fence-config-node-7, key config.properties" + `, line 2: method "network-isolate" is a method that you must write: key fence-method-network-isolate, with the agent_name of a device that cuts off network`,
		},
		"coverage of a network": {
			maps: []ConfigMap{cutNode("isolation=s\npower_management=ipmi", "s", "agent_name=switch\nport=7\ncsi_drivers=d")},
			err:  `ConfigMap fence-config-node-7, key fence-method-s, line 3: unknown parameter "csi_drivers" for driver switch; known are action, agent_name, identity, must_success, name, namespace, node_name, password, port, secret, settle, template`,
		},
		"another level without a first": {
			maps: []ConfigMap{cutNode("isolation=s\npower_management_2=ipmi", "s", sanMethod)},
			err:  "ConfigMap fence-config-node-7, key config.properties" + ", line 3: there is no power_management before it; levels have no gaps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved(tc.maps, node7, fabrics())
			if d := cmp.Diff(tc.err, words(err)); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(tc.want, p.Cuts()); d != "" {
				t.Error(d)
			}
			if p.Binding.Driver != tc.power {
				t.Errorf("its power is %q", p.Binding.Driver)
			}
			if d := cmp.Diff(tc.steps, p.Isolation); d != "" && err == nil {
				t.Error(d)
			}
		})
	}
}

// TestTwoNodesOnOnePort: both are refused, where each has several ports too (S11).
func TestTwoNodesOnOnePort(t *testing.T) {
	const said = "ConfigMap fence-config-node-8: node 8 has the same device address %s as node 7; neither of them is fenced before one is mended"
	for name, tc := range map[string]struct{ mine, other, want string }{
		"one":                      {sanMethod, sanMethod, fmt.Sprintf(said, "san#7")},
		"one of several":           {"agent_name=many\nport=6,7", "agent_name=many\nport=7", fmt.Sprintf(said, "many#7")},
		"one, of the other's many": {"agent_name=many\nport=7", "agent_name=many\nport=8,7", fmt.Sprintf(said, "many#7")},
		"none of several":          {"agent_name=many\nport=6,7", "agent_name=many\nport=8,77", ""},
	} {
		t.Run(name, func(t *testing.T) {
			other := configMap("fence-config-node-8", "config.properties", "node_name=8\nisolation=s", "fence-method-s", tc.other)
			all := []ConfigMap{cutNode("isolation=s\npower_management=ipmi", "s", tc.mine), other}
			p, err := resolved(all, node7, fabrics())
			if err != nil {
				t.Fatal(err)
			}
			err = duplicates(all, nil, fabrics(), node7, p.Devices()...)
			if d := cmp.Diff(tc.want, words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

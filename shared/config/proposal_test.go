package config

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/shared/device"
)

// proposal are the ConfigMaps of testdata/proposal.yaml.
func proposal(t *testing.T) []ConfigMap {
	t.Helper()
	text, err := os.ReadFile("testdata/proposal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var out []ConfigMap
	for _, o := range list.Items {
		out = append(out, ConfigMap{Name: o.Metadata.Name, ResourceVersion: "1", Data: o.Data})
	}
	return out
}

// outlets is an agent that switches outlets, with the parameters of the
// proposal's, and cloud one that knows its machines by name.
func outlets(name string) device.Kind {
	return device.Kind{
		Name: name,
		Params: []device.Param{
			{Name: "ip"}, {Name: "plug", Required: true, Machine: true}, {Name: "username"}, {Name: "password", Secret: true},
			{Name: "snmp_priv_prot"}, {Name: "snmp_priv_passwd", Secret: true}, {Name: "snmp_sec_level"}, {Name: "zone"}, {Name: "project"},
		},
		Address: func(p map[string]string) (string, error) { return p["ip"] + p["project"] + "#" + p["plug"], nil },
	}
}

func TestProposal(t *testing.T) {
	s := clouded()
	s.Find = func(agent string) (device.Kind, error) {
		if agent == "fence_brocade" {
			return device.Kind{}, device.ErrFabric
		}
		return outlets(agent), nil
	}
	// what is left of a plan that tells one from the other
	type short struct {
		Isolation, Power, Recovery []Do
		Device, Address            string
		LeaveOff                   bool
	}
	dos := func(steps []Step) (out []Do) {
		for _, st := range steps {
			out = append(out, st.Do)
		}
		return out
	}
	const inConfig = "ConfigMap fence-config-metal-"
	for name, tc := range map[string]struct {
		node Node
		want short
		err  string
	}{
		"a cloud's default": {
			node: Node{Name: "vm-1", ProviderID: "vm://here/x1"},
			want: short{[]Do{MarkUnschedulable}, []Do{Off}, []Do{On, MarkSchedulable}, "vm", "vm:here/x1", false},
		},
		"a cloud's default, by no ConfigMap at all": {
			node: Node{Name: "vm-2", ProviderID: "vm://here/x2"},
			want: short{[]Do{MarkUnschedulable}, []Do{Off}, []Do{On, MarkSchedulable}, "vm", "vm:here/x2", false},
		},
		"bare metal: the on waits for recovery, and the switch is said to be left out": {
			node: Node{Name: "metal-1"},
			want: short{[]Do{Disconnect}, []Do{Off}, []Do{On, Connect}, "fence_eaton_snmp", "192.0.2.4#1", false},
		},
		"bare metal, a ConfigMap for each method": {
			node: Node{Name: "metal-2"},
			want: short{[]Do{Disconnect}, []Do{Off}, []Do{On, Connect}, "fence_eaton_snmp", "192.0.2.4#2", false},
		},
		"a look at an outlet proves nothing": {
			node: Node{Name: "metal-3"},
			err:  inConfig + "3, key config.properties, line 3: nothing in power_management can prove the machine off: it has no method that switches a device off",
		},
		"a script is no agent": {
			node: Node{Name: "metal-4"},
			err:  `ConfigMap fence-method-ssh-metal-4, key method.properties, line 1: unknown agent "ssh"; known are fence_bmc, fence_gone, fence_pdu, fence_vm, vm`,
		},
		"a cloud by its agent, and built-ins with the older scripts": {
			node: Node{Name: "gce-1"},
			want: short{[]Do{MarkUnschedulable}, []Do{Off, CleanPods}, []Do{On, MarkSchedulable}, "fence_gce", "example#gce-1", false},
		},
		"a node of a type": {
			node: Node{Name: "metal-5", Type: "compute"},
			want: short{[]Do{MarkUnschedulable}, []Do{Off}, []Do{On, MarkSchedulable}, "fence_eaton_snmp", "192.0.2.4#5", false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved(proposal(t), tc.node, s)
			if d := cmp.Diff(tc.err, words(err)); d != "" {
				t.Error(d)
			}
			got := short{dos(p.Isolation), dos(p.Power), dos(p.Recovery), p.Binding.Driver, p.Binding.Address, p.Binding.LeaveOff}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if err == nil {
				if err := duplicates(proposal(t), nil, s, tc.node, p.Binding); err != nil {
					t.Error(err)
				}
			}
		})
	}
	c, err := clusterOf(proposal(t))
	want := Cluster{Grace: 10 * time.Second, Retries: 5, SkipFrom: 60, Sources: read("fence-cluster-config@1", "fence-policy-fence-limit@1")}
	if d := cmp.Diff(want, c); d != "" || err != nil {
		t.Error(err, d)
	}
}

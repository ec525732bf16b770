package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// supplies is a node with methods for outlets: each is "name ip plug action".
func supplies(power string, methods ...string) ConfigMap {
	m := configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management="+power+"\nrecovery=uncordon")
	for _, line := range methods {
		f := strings.Fields(line)
		m.Data["fence-method-"+f[0]] = "agent_name=fence_pdu\nip=" + f[1] + "\nplug=" + f[2] + "\naction=" + f[3]
	}
	return m
}

func outlet(ip, plug string) api.SetMember {
	return api.SetMember{Driver: "pdu", Address: ip + "#" + plug, Params: map[string]string{"ip": ip, "plug": plug}, Identity: "uuid-7"}
}

// TestSet: several outlets that are switched off are one device, off when all are.
func TestSet(t *testing.T) {
	two := []api.SetMember{outlet("p1", "1"), outlet("p2", "1")}
	for name, tc := range map[string]struct {
		cm       ConfigMap
		members  []api.SetMember
		recovery []Step
	}{
		"all off, and all on in recovery": {
			cm:       supplies("a-off b-off a-on b-on", "a-off p1 1 off", "b-off p2 1 off", "a-on p1 1 on", "b-on p2 1 on"),
			members:  two,
			recovery: []Step{{Method: "a-on", Do: On}, {Method: "b-on", Do: On}, {Method: "uncordon", Do: MarkSchedulable}},
		},
		"a reboot of each": {
			cm: supplies("a b", "a p1 1 reboot", "b p2 1 reboot"), members: two,
			recovery: []Step{{Method: "a", Do: On}, {Method: "b", Do: On}, {Method: "uncordon", Do: MarkSchedulable}},
		},
		"a reboot and an on of one is one on": {
			cm: supplies("a b a-on", "a p1 1 reboot", "b p2 1 reboot", "a-on p1 1 on"), members: two,
			recovery: []Step{{Method: "a", Do: On}, {Method: "b", Do: On}, {Method: "uncordon", Do: MarkSchedulable}},
		},
		"left off": {
			cm: supplies("b a", "a p1 1 off", "b p2 1 off"), members: []api.SetMember{two[1], two[0]},
			recovery: []Step{{Method: "uncordon", Do: MarkSchedulable}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved([]ConfigMap{tc.cm}, node7, settings())
			if err != nil {
				t.Fatal(err)
			}
			want := api.Binding{
				Driver: "set", Address: tc.members[0].Address + " and " + tc.members[1].Address, Identity: "uuid-7",
				Members: tc.members, LeaveOff: !has(tc.recovery, On), Sources: read("fence-config-node-7@1"),
			}
			if d := cmp.Diff(want, p.Binding); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.recovery, p.Recovery); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMixedSet: the longest delay holds, secrets are each member's own, and the
// origins say of which member they speak.
func TestMixedSet(t *testing.T) {
	m := supplies("ipmi pdu", "pdu p1 1 off")
	m.Data["fence-method-ipmi"] = good
	p, err := resolved([]ConfigMap{m}, node7, settings())
	if err != nil {
		t.Fatal(err)
	}
	bmc := plan().Binding
	want := []api.SetMember{{Driver: "bmc", Address: bmc.Address, Params: bmc.Params, SecretRefs: bmc.SecretRefs, Identity: "uuid-7"}, outlet("p1", "1")}
	if d := cmp.Diff(want, p.Binding.Members); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(metav1.Duration{Duration: 10 * time.Second}, p.Binding.EffectDelay); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"ConfigMap fence-config-node-7, key fence-method-ipmi, line 3", "ConfigMap fence-config-node-7, key fence-method-pdu, line 2"},
		[]string{p.Origins["1.ip"], p.Origins["2.ip"]}); d != "" {
		t.Error(d)
	}
}

func TestNoSet(t *testing.T) {
	const at = "ConfigMap fence-config-node-7, key config.properties: "
	many := supplies("a1 a2 a3 a4 a5 a6 a7 a8 a9", "a1 p 1 off", "a2 p 2 off", "a3 p 3 off", "a4 p 4 off", "a5 p 5 off", "a6 p 6 off", "a7 p 7 off", "a8 p 8 off", "a9 p 9 off")
	for name, tc := range map[string]struct {
		cm   ConfigMap
		want string
	}{
		"one outlet twice": {supplies("a b", "a p1 1 off", "b p1 1 off"),
			"methods a and b switch off the same outlet, pdu p1#1; a set has each of a machine's outlets once: correct one of them, or leave it out"},
		"one is switched on again": {supplies("a b", "a p1 1 reboot", "b p2 1 off"),
			"method b switches off pdu p2#1, and no method switches it on again, while others are switched on; name a method for each, or for none"},
		"another machine is switched on": {supplies("a b", "a p1 1 off", "b p1 2 on"),
			"method b speaks with a device that no method switches off, pdu p1#2; all devices of a set must be switched off"},
		"another machine is looked at": {supplies("a b", "a p1 1 off", "b p1 2 status"),
			"method b speaks with a device that no method switches off, pdu p1#2; all devices of a set must be switched off"},
		"more than a machine has": {many, "9 devices are switched off; a set has at most 8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolved([]ConfigMap{tc.cm}, node7, settings())
			if d := cmp.Diff(at+tc.want, words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOneOutletOfTwoNodes: any of a set's outlets is its node's alone (S11).
func TestOneOutletOfTwoNodes(t *testing.T) {
	mine := supplies("a b", "a p1 1 off", "b p2 1 off")
	p, err := resolved([]ConfigMap{mine}, node7, settings())
	if err != nil {
		t.Fatal(err)
	}
	for plug, want := range map[string]string{
		"1": "ConfigMap fence-config-node-8: node 8 has the same device address p2#1 as node 7; neither of them is fenced before one is mended",
		"2": "",
	} {
		other := configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=x y",
			"fence-method-x", "agent_name=fence_pdu\nip=p1\nplug=8\naction=off", "fence-method-y", "agent_name=fence_pdu\nip=p2\naction=off\nplug="+plug)
		err := duplicates([]ConfigMap{mine, other}, nil, settings(), node7, p.Binding)
		if d := cmp.Diff(want, words(err)); d != "" {
			t.Error(d)
		}
	}
}

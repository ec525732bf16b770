package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withLevels adds lines to config.properties.
func withLevels(cm ConfigMap, lines ...string) ConfigMap {
	cm.Data[configKey] += "\n" + strings.Join(lines, "\n")
	return cm
}

// TestLevels: each further line of power is another device, in order.
func TestLevels(t *testing.T) {
	const second, third = "power_management_2=b c", "power_management_3=d"
	methods := []string{"a p1 1 reboot", "b p2 1 reboot", "c p3 1 reboot", "d p4 1 reboot", "e p1 1 reboot", "f p5 1 off", "g p6 1 status"}
	for name, tc := range map[string]struct {
		lines []string
		want  []string
		err   string
	}{
		"one":                               {nil, []string{"p1#1"}, ""},
		"two, of which the second is a set": {[]string{second}, []string{"p1#1", "p2#1 and p3#1"}, ""},
		"three":                             {[]string{second, third}, []string{"p1#1", "p2#1 and p3#1", "p4#1"}, ""},
		"one is left out":                   {[]string{third}, nil, ", line 4: there is no power_management_2; levels have no gaps"},
		"one device at two levels":          {[]string{"power_management_2=e"}, nil, ", line 4: device p1#1 is switched by an earlier level already; each level needs a device of its own"},
		"one that proves nothing":           {[]string{"power_management_2=g"}, nil, ", line 4: nothing in power_management_2 can prove the machine off: it has no method that switches a device off"},
		"one that leaves it off":            {[]string{"power_management_2=f"}, nil, ", line 4: no method of this level switches the machine on again, and power_management does; say the same at all levels"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved([]ConfigMap{withLevels(supplies("a", methods...), tc.lines...)}, node7, settings())
			if tc.err != "" {
				tc.err = "ConfigMap fence-config-node-7, key config.properties" + tc.err
			}
			if d := cmp.Diff(tc.err, words(err)); d != "" {
				t.Fatal(d)
			}
			var got []string
			for _, b := range p.Bindings() {
				got = append(got, b.Address)
			}
			if err == nil && cmp.Diff(tc.want, got) != "" {
				t.Error(cmp.Diff(tc.want, got))
			}
		})
	}
}

// TestNoOutletOfAnotherLevelIsShared: all levels count against other nodes (S11).
func TestNoOutletOfAnotherLevelIsShared(t *testing.T) {
	mine := withLevels(supplies("a", "a p1 1 reboot", "b p2 1 reboot"), "power_management_2=b")
	theirs := configMap("fence-config-node-8", configKey, "node_name=8\npower_management=x",
		"fence-method-x", "agent_name=fence_pdu\nip=p2\nplug=1\naction=reboot")
	all := []ConfigMap{mine, theirs}
	p, err := resolved(all, node7, settings())
	if err != nil {
		t.Fatal(err)
	}
	err = duplicates(all, nil, settings(), node7, p.Bindings()...)
	if err == nil || !strings.Contains(err.Error(), "node 8 has the same device address p2#1 as node 7") {
		t.Errorf("got %v", err)
	}
}

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotes: requests of a plan that are not carried out are noted, and not silently left
// out.
func TestNotes(t *testing.T) {
	const (
		marks = "recovery does not name uncordon: nodefence removes its own mark anyway"
		stays = "no method switches the machine on: it stays off until a person does"
	)
	reboot := "agent_name=fence_bmc\nip=10.0.0.7\nusername=fence\n"
	for name, tc := range map[string]struct {
		props, method string
		want          []string
		leaveOff      bool
	}{
		"nothing to say":                      {props: config + "\nrecovery=uncordon", method: reboot + "secret=s"},
		"the mark is undone whatever it says": {props: config + "\nrecovery=", method: reboot + "secret=s", want: []string{marks}},
		"an off without an on":                {props: config + "\nrecovery=uncordon", method: good, want: []string{stays}, leaveOff: true},
		"kdump": {props: config + "\nrecovery=uncordon\nkdump=enabled", method: reboot + "secret=s",
			want: []string{"kdump: nodefence waits for a dump before it cuts the power, as long as nodefence-kdump gets the dump's messages; without nodefence-kdump each fence of this node only waits for a first message"}},
		"a password where all can read it": {props: config + "\nrecovery=uncordon", method: reboot + "passwd=x",
			want: []string{"password is in ConfigMap fence-config-node-7, where everyone who may read ConfigMaps can read it; put it into a Secret and write secret=<its name>"}},
		"a fabric": {props: config + "\nisolation=fc\nrecovery=uncordon", method: reboot + "secret=s",
			want: []string{"method fc is not carried out: its agent cuts off storage or network, which is not done in a Job: leave job_image out; nothing is released before the machine is seen off"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := finding(settings())
			s.Job = s.Find
			p, err := resolved([]ConfigMap{configMap("fence-config-node-7", "config.properties", tc.props, "fence-method-ipmi", tc.method, "fence-method-fc", "agent_name=fence_fc\njob_image=registry.example.com/agents:1\nplug=2")}, node7, s)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, p.Notes); d != "" {
				t.Error(d)
			}
			if p.Binding.LeaveOff != tc.leaveOff {
				t.Error("is left off:", p.Binding.LeaveOff)
			}
		})
	}
}

// TestABMCThatItsOutletMayFeed is noted: it would be silent after the Off, and the set never read off.
func TestABMCThatItsOutletMayFeed(t *testing.T) {
	const stays = "no method switches the machine on: it stays off until a person does"
	const silent = "bmc 10.0.0.7:623 and pdu p1#1 are one set, which is off only if each says so: if that outlet feeds that BMC, the BMC is silent after the Off, and nothing is ever released; name in a set only outlets that leave the BMC its power, and any other as power_management_2"
	mixed := supplies("ipmi a", "a p1 1 off")
	mixed.Data["fence-method-ipmi"] = good
	apart := supplies("ipmi\npower_management_2=a", "a p1 1 off")
	apart.Data["fence-method-ipmi"] = good
	for name, tc := range map[string]struct {
		cm   ConfigMap
		want []string
	}{
		"a BMC and an outlet":  {mixed, []string{silent, stays}},
		"two outlets":          {supplies("a b", "a p1 1 off", "b p2 1 off"), []string{stays}},
		"each a level of both": {apart, []string{"1 further levels: they are tried as far as power.maxLevels of the FencePolicy goes", stays}},
	} {
		p, err := resolved([]ConfigMap{tc.cm}, node7, settings())
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(tc.want, p.Notes); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestOrigins: each value of a binding is said to come from where it stands.
func TestOrigins(t *testing.T) {
	maps := []ConfigMap{own(config, "template=rack\nip=10.0.0.7\nsecret=bmc-7"), configMap("rack", "template.properties", "agent_name=fence_bmc\n\nlogin=fence")}
	p, err := resolved(maps, node7, settings())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ip":       "ConfigMap fence-config-node-7, key fence-method-ipmi, line 2",
		"username": "ConfigMap rack, key template.properties, line 3",
		"password": "Secret bmc-7, key password",
		"ipport":   "the default of driver bmc",
		"cipher":   "the default of driver bmc",
	}
	if d := cmp.Diff(want, p.Origins); d != "" {
		t.Error(d)
	}
	p, err = resolved(nil, enrolled("vm://here/x7"), clouded())
	const id = "the provider ID with which the node was enrolled"
	if d := cmp.Diff(map[string]string{"instance": id, "place": id}, p.Origins); d != "" || err != nil {
		t.Error(err, d)
	}
}

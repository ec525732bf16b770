package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// clouded are the settings with a driver for a cloud, whose provider IDs are
// vm://<place>/<instance>.
func clouded() Settings {
	s := settings()
	s.Kinds["vm"] = device.Kind{
		Name: "vm", EffectDelay: 30 * time.Second, Identity: "instance",
		Params: []device.Param{
			{Name: "instance", Required: true, Machine: true}, {Name: "place"}, {Name: "key", Secret: true},
		},
		Address: func(p map[string]string) (string, error) {
			if p["place"] == "" {
				return "", errors.New("place is missing")
			}
			return "vm:" + p["place"] + "/" + p["instance"], nil
		},
		Cloud: func(id string) (map[string]string, bool) {
			rest, ok := strings.CutPrefix(id, "vm://")
			place, instance, two := strings.Cut(rest, "/")
			if !ok || !two {
				return nil, false
			}
			p := map[string]string{"instance": instance}
			if place != "" {
				p["place"] = place
			}
			return p, true
		},
	}
	s.Agents["fence_vm"], s.Agents["vm"] = "vm", "vm"
	s.Aliases["instance"] = "plug"
	return s
}

// enrolled is node 7 as it is on a cloud.
func enrolled(providerID string) Node {
	return Node{Name: "7", Type: "rack", Identity: "uuid-7", ProviderID: providerID, Enrolment: read("fence-enrolled-7@4")[0]}
}

// onCloud is the plan that no ConfigMap asks for, changed.
func onCloud(change ...func(*Plan)) Plan {
	p := Plan{
		Isolation: []Step{{Method: "mark-unschedulable", Do: MarkUnschedulable}},
		Power:     []Step{{Method: "restart-instance", Do: Off}},
		Recovery:  []Step{{Method: "restart-instance", Do: On}, {Method: "mark-schedulable", Do: MarkSchedulable}},
		Binding: api.Binding{
			Driver: "vm", Address: "vm:here/x7", Identity: "x7", Params: map[string]string{"instance": "x7", "place": "here"},
			EffectDelay: metav1.Duration{Duration: 30 * time.Second}, Sources: read("fence-enrolled-7@4"),
		},
	}
	for _, c := range change {
		c(&p)
	}
	return told(p)
}

func steps(isolation, power, recovery []Step) func(*Plan) {
	return func(p *Plan) { p.Isolation, p.Power, p.Recovery = isolation, power, recovery }
}

func TestOnACloud(t *testing.T) {
	const props = "config.properties"
	off, on := func(m string) Step { return Step{Method: m, Do: Off} }, func(m string) Step { return Step{Method: m, Do: On} }
	for name, tc := range map[string]struct {
		maps []ConfigMap
		want Plan
	}{
		"no ConfigMap at all: marked, restarted, unmarked": {want: onCloud()},
		"the methods by name, for a whole type, and the machine by the enrolment (S11)": {
			maps: []ConfigMap{configMap("fence-config-type-rack", props, "isolation=cordon\npower_management=restart-instance\nrecovery=mark-unschedulable")},
			want: onCloud(sources("fence-config-type-rack@1", "fence-enrolled-7@4"), steps(
				[]Step{{Method: "cordon", Do: MarkUnschedulable}}, []Step{off("restart-instance")},
				[]Step{on("restart-instance"), {Method: "mark-unschedulable", Do: MarkSchedulable}})),
		},
		"a stop alone leaves it off": {
			maps: []ConfigMap{configMap("fence-config-default", props, "power_management=stop_instance")},
			want: onCloud(sources("fence-config-default@1", "fence-enrolled-7@4"), steps(nil, []Step{off("stop_instance")}, nil)),
		},
		"a start in power_management is kept for recovery (S4)": {
			maps: []ConfigMap{configMap("fence-config-default", props, "power_management=stop-instance start-instance\nrecovery=uncordon")},
			want: onCloud(sources("fence-config-default@1", "fence-enrolled-7@4"), steps(nil, []Step{off("stop-instance")},
				[]Step{on("start-instance"), {Method: "uncordon", Do: MarkSchedulable}})),
		},
		"a start in recovery": {
			maps: []ConfigMap{configMap("fence-config-default", props, "power_management=stop-instance\nrecovery=start-instance")},
			want: onCloud(sources("fence-config-default@1", "fence-enrolled-7@4"), steps(nil, []Step{off("stop-instance")}, []Step{on("start-instance")})),
		},
		"a built-in as the agent of a method": {
			maps: []ConfigMap{configMap("fence-config-default", props, "power_management=r", "fence-method-r", "agent_name=restart-instance\nmust_success=yes")},
			want: onCloud(sources("fence-config-default@1", "fence-enrolled-7@4"), steps(nil,
				[]Step{{Method: "r", Do: Off, MustSucceed: true}}, []Step{{Method: "r", Do: On, MustSucceed: true}})),
		},
		"an agent for a whole type says how, and the enrolment which machine (S11)": {
			maps: []ConfigMap{configMap("fence-config-default", props, "power_management=r", "fence-method-r", "agent_name=fence_vm\naction=off\nsecret=cloud")},
			want: onCloud(sources("fence-config-default@1", "fence-enrolled-7@4"), steps(nil, []Step{off("r")}, nil), func(p *Plan) {
				p.Binding.SecretRefs = []api.SecretRef{{Parameter: "key", Kind: api.KindSecret, Name: "cloud", Key: "key"}}
			}),
		},
		"the agent's word for the machine, where it is the one enrolled": {
			maps: []ConfigMap{own(config, "agent_name=fence_vm\naction=off\nport=x7\nplace=here\nboto3_debug=1")},
			want: onCloud(sources("fence-config-node-7@1", "fence-enrolled-7@4"), steps(nil, []Step{off("ipmi")}, nil)),
		},
		"another device of the node's own is nothing to the cloud": {
			maps: []ConfigMap{own(config, good)},
			want: plan(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolved(tc.maps, enrolled("vm://here/x7"), clouded())
			if err != nil {
				t.Fatal(err)
			}
			got.Origins = nil
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNotEnrolled(t *testing.T) {
	m := own(config, "agent_name=fence_vm\naction=off\ninstance=x7\nplace=here")
	want := onCloud(sources("fence-config-node-7@1"), steps(nil, []Step{{Method: "ipmi", Do: Off}}, nil))
	for _, id := range []string{"", "other://here/x8"} {
		got, err := resolved([]ConfigMap{m}, enrolled(id), clouded())
		got.Origins = nil
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(err, d)
		}
	}
}

func TestRefuseOnACloud(t *testing.T) {
	const (
		none     = "no binding: there is no ConfigMap fence-config-node-7, fence-config-7, fence-config-type-rack, fence-config-default; and "
		unknown  = `, with which node 7 was enrolled, is no instance of a cloud that this build knows (vm)`
		byHand   = "; write a method with agent_name= and the machine in ConfigMap fence-config-node-7 instead"
		inMethod = "ConfigMap fence-config-node-7, key fence-method-ipmi"
		leave    = "; leave the enrolled parameters out, or mend them"
	)
	shared := configMap("fence-config-default", "config.properties", "isolation=cordon\npower_management=restart-instance")
	agent := func(lines ...string) []ConfigMap {
		return []ConfigMap{own(config, "agent_name=fence_vm\naction=off\n"+text(lines...))}
	}
	for name, tc := range map[string]struct {
		id   string
		maps []ConfigMap
		want string
	}{
		"nothing enrolled":                     {want: none + "no provider ID was enrolled for node 7 while it was healthy"},
		"a cloud that is not known":            {id: "other://x", want: none + `provider ID "other://x"` + unknown},
		"a very long one":                      {id: strings.Repeat("x", 100), want: none + `provider ID "` + strings.Repeat("x", 77) + `…"` + unknown},
		"what the cloud needs is not in it":    {id: "vm:///x7", want: "ConfigMap fence-enrolled-7, key provider_id: place is missing"},
		"a method by name, nothing enrolled":   {maps: []ConfigMap{shared}, want: `ConfigMap fence-config-default, key config.properties, line 2: method "restart-instance" switches the cloud's instance: no provider ID was enrolled for node 7 while it was healthy` + byHand},
		"a method by name, of another cloud":   {id: "other://x", maps: []ConfigMap{shared}, want: `ConfigMap fence-config-default, key config.properties, line 2: method "restart-instance" switches the cloud's instance: provider ID "other://x"` + unknown + byHand},
		"a ConfigMap that is wrong is no none": {id: "vm://here/x7", maps: []ConfigMap{configMap("fence-config-default")}, want: "ConfigMap fence-config-default, key config.properties: missing"},
		"a method of that name is two readings": {id: "vm://here/x7", maps: []ConfigMap{configMap("fence-method-restart-instance-7", "method.properties", good)},
			want: `ConfigMap fence-method-restart-instance-7, key method.properties: method "restart-instance" has the name of a built-in; that can be read in two ways: rename it`},
		"an agent that is told no machine":            {maps: agent("place=here"), want: inMethod + ": missing instance for driver vm, and node 7 was not enrolled with a provider ID that has it"},
		"an agent that is told another machine (S11)": {id: "vm://here/x7", maps: agent("plug=x8"), want: inMethod + ": vm:here/x8 is not the machine that node 7 was enrolled as, vm:here/x7" + leave},
		"an agent that is told another place (S11)":   {id: "vm://here/x7", maps: agent("place=there"), want: inMethod + ": vm:there/x7 is not the machine that node 7 was enrolled as, vm:here/x7" + leave},
		"the machine twice, by two names":             {id: "vm://here/x7", maps: agent("plug=x7", "instance=x7"), want: inMethod + `, line 4: "instance" is given twice; it stands in line 3 already as "plug"`},
		"which machine, from a default (S11)":         {id: "vm://here/x7", maps: []ConfigMap{configMap("fence-config-default", "config.properties", "power_management=r", "fence-method-r", "agent_name=vm\nplug=x7")}, want: `ConfigMap fence-config-default, key fence-method-r, line 2: "plug" says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap fence-config-node-7 or fence-method-r-7`},
		"a parameter of a built-in":                   {id: "vm://here/x7", maps: []ConfigMap{own(config, "agent_name=restart-instance\nplace=here")}, want: inMethod + `, line 2: "place" has no meaning for a built-in`},
		"a restart in isolation":                      {id: "vm://here/x7", maps: []ConfigMap{configMap("fence-config-default", "config.properties", "isolation=restart-instance")}, want: `ConfigMap fence-config-default, key config.properties, line 1: method "restart-instance" switches power in isolation; it belongs in power_management`},
		"a start alone proves nothing":                {id: "vm://here/x7", maps: []ConfigMap{configMap("fence-config-default", "config.properties", "power_management=start-instance")}, want: "ConfigMap fence-config-default, key config.properties, line 1: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"the instance, and another device (S11)":      {id: "vm://here/x7", maps: []ConfigMap{own(config+" restart-instance", good)}, want: "ConfigMap fence-config-node-7, key config.properties: methods ipmi and restart-instance have devices that identify a machine in different ways, bmc 10.0.0.7:623 and vm vm:here/x7; they can't form a set"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolved(tc.maps, enrolled(tc.id), clouded())
			if d := cmp.Diff(tc.want, words(err)); d != "" {
				t.Error(d)
			}
			if got, want := errors.Is(err, ErrNoBinding), strings.HasPrefix(tc.want, "no binding"); got != want {
				t.Errorf("is no binding: %v, want %v", got, want)
			}
			if d := cmp.Diff(Plan{}, got); d != "" {
				t.Error("a plan beside an error:", d)
			}
		})
	}
	if _, err := resolved([]ConfigMap{shared}, enrolled("vm://here/x7"), settings()); err == nil || !strings.Contains(err.Error(), "instance: this build has no driver for a cloud;") {
		t.Error(err)
	}
}

// TestOneInstanceOfTwo nodes: by the enrolments, by the ConfigMaps, and by one of each.
func TestOneInstanceOfTwo(t *testing.T) {
	other := func(id string) Node { return Node{Name: "8", ProviderID: id} }
	agent := func(lines string) ConfigMap {
		return configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=r", "fence-method-r", "agent_name=vm\n"+lines)
	}
	const said = "ConfigMap fence-config-node-8: node 8 has the same device address vm:here/x7 as node 7; neither of them is fenced before one is mended"
	for name, tc := range map[string]struct {
		other Node
		maps  []ConfigMap
		alike []string
		want  string
	}{
		"another instance":                                {other: other("vm://here/x8")},
		"one instance, enrolled twice":                    {other: other("vm://here/x7"), alike: []string{"8"}},
		"in another spelling":                             {other: other("vm:///X7"), alike: []string{"8"}},
		"another cloud":                                   {other: other("other://here/x7")},
		"named in a ConfigMap":                            {other: other(""), maps: []ConfigMap{agent("plug=x7\nplace=here")}, want: said},
		"named in a ConfigMap, with the place enrolled":   {other: other("vm://here/x7"), maps: []ConfigMap{agent("plug=x7")}, alike: []string{"8"}, want: said},
		"named in a ConfigMap, against its own enrolment": {other: other("vm://here/x8"), maps: []ConfigMap{agent("plug=x7")}, want: said},
	} {
		t.Run(name, func(t *testing.T) {
			me := enrolled("vm://here/x7")
			p, err := resolved(tc.maps, me, clouded())
			if err != nil {
				t.Fatal(err)
			}
			all := []Node{me, tc.other}
			var alike []string
			for _, n := range Of(nil, all, clouded()).Alike(me, p.Binding) {
				alike = append(alike, n.Name)
			}
			if d := cmp.Diff(tc.alike, alike); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.want, words(duplicates(tc.maps, all, clouded(), me, p.Binding))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNotTheSwitch: restart-instance does not use a driver that knows the instance but does
// not switch it, and does not ask a driver that can't switch on (S12).
func TestNotTheSwitch(t *testing.T) {
	s := clouded()
	end, net := s.Kinds["vm"], s.Kinds["vm"]
	end.Name, end.NoOn = "ends", "what is deleted stays so"
	net.Name, net.Scope = "cuts", device.ScopeNetwork
	s.Kinds["ends"], s.Kinds["cuts"] = end, net // by name before vm
	s.Agents["ends"] = "ends"
	p, err := resolved(nil, enrolled("vm://here/x7"), s)
	if err != nil || p.Binding.Driver != "vm" {
		t.Errorf("restart-instance is by %s, %v", p.Binding.Driver, err)
	}
	cm := configMap("fence-config-default", "config.properties", "power_management=delete-machine")
	if p, err = resolved([]ConfigMap{cm}, enrolled("vm://here/x7"), s); err != nil || p.Binding.Driver != "ends" || !p.Binding.LeaveOff {
		t.Errorf("delete-machine is by %+v, %v", p.Binding, err)
	}
	delete(s.Kinds, "vm")
	if p, err := resolved(nil, enrolled("vm://here/x7"), s); !errors.Is(err, ErrNoBinding) {
		t.Errorf("without a switch it is by %s, %v", p.Binding.Driver, err)
	}
	for action, want := range map[string]string{
		"off":    "",
		"reboot": `ConfigMap fence-config-default, key fence-method-e, line 2: method "e" switches on, and driver ends can't: what is deleted stays so; write action=off`,
		"on":     `ConfigMap fence-config-default, key fence-method-e, line 2: method "e" switches on, and driver ends can't: what is deleted stays so; write action=off`,
	} {
		cm := configMap("fence-config-default", "config.properties", "power_management=e", "fence-method-e", "agent_name=ends\naction="+action)
		p, err := resolved([]ConfigMap{cm}, enrolled("vm://here/x7"), s)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != want || want == "" && (p.Binding.Driver != "ends" || !p.Binding.LeaveOff) {
			t.Errorf("%s: %+v, %v", action, p.Binding, err)
		}
	}
}

package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// plan is the good plan, changed.
func plan(change ...func(*Plan)) Plan {
	p := Plan{
		Power: []Step{{Method: "ipmi", Do: Off}},
		Binding: api.Binding{
			Driver: "bmc", Address: "10.0.0.7:623", Identity: "uuid-7",
			Params:      map[string]string{"ip": "10.0.0.7", "ipport": "623", "username": "fence", "cipher": "3"},
			SecretRefs:  []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "bmc-7", Key: "password"}},
			EffectDelay: metav1.Duration{Duration: 10 * time.Second},
			Sources:     read("fence-config-node-7@1"),
		},
	}
	for _, c := range change {
		c(&p)
	}
	return told(p)
}

// told adds what follows from the rest; TestNotes has it in words.
func told(p Plan) Plan {
	p.Binding.LeaveOff = !has(p.Recovery, On)
	p.Notes = notes(p)
	return p
}

func sources(s ...string) func(*Plan) { return func(p *Plan) { p.Binding.Sources = read(s...) } }

// read are ConfigMaps as they were read, by name@version.
func read(all ...string) []api.ConfigSource {
	var out []api.ConfigSource
	for _, s := range all {
		name, version, _ := strings.Cut(s, "@")
		out = append(out, api.ConfigSource{Kind: api.KindConfigMap, Name: name, ResourceVersion: version})
	}
	return out
}

func literal(cm, key string) func(*Plan) {
	return func(p *Plan) {
		p.Binding.SecretRefs = []api.SecretRef{{Parameter: "password", Kind: api.KindConfigMap, Name: cm, Key: key}}
	}
}

func rebooted(p *Plan) { p.Recovery = []Step{{Method: "ipmi", Do: On}} }

func TestResolve(t *testing.T) {
	half := "agent_name=fence_bmc\naction=off\nusername=fence\nsecret=bmc-7"
	for name, tc := range map[string]struct {
		maps []ConfigMap
		want Plan
	}{
		"the node's own ConfigMap comes before type and default": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-type-rack"), configMap("fence-config-default")},
			want: plan(),
		},
		"the older name is the node's own as well": {
			maps: []ConfigMap{configMap("fence-config-7", "config.properties", config, "fence-method-ipmi", good)},
			want: plan(sources("fence-config-7@1")),
		},
		"type says how, and the method's ConfigMap for the node which machine": {
			maps: []ConfigMap{
				configMap("fence-config-type-rack", "config.properties", "power_management=ipmi"),
				configMap("fence-config-default"),
				configMap("fence-method-ipmi-7", "method.properties", good),
			},
			want: plan(sources("fence-config-type-rack@1", "fence-method-ipmi-7@1")),
		},
		"default comes last": {
			maps: []ConfigMap{
				configMap("fence-config-default", "config.properties", "power_management=ipmi"),
				configMap("fence-method-ipmi-7", "method.properties", good),
			},
			want: plan(sources("fence-config-default@1", "fence-method-ipmi-7@1")),
		},
		"another node's ConfigMap is not read, broken as it may be": {
			maps: []ConfigMap{
				configMap("fence-config-node-7", "config.properties", config, "fence-method-ipmi", good),
				configMap("fence-config-7-x", "config.properties", "no"),
			},
			want: plan(),
		},
		"a method of the node's own ConfigMap comes before the general one": {
			maps: []ConfigMap{own(config, good), configMap("fence-method-ipmi", "method.properties", "no")},
			want: plan(),
		},
		"a template is overridden line by line": {
			maps: []ConfigMap{
				own(config, "template=rack\nip=10.0.0.7\ncipher=3"),
				configMap("rack", "template.properties", half+"\ncipher=17"),
			},
			want: plan(sources("fence-config-node-7@1", "rack@1")),
		},
		"a template may have a template, by its older name": {
			maps: []ConfigMap{
				own(config, "template=fence-method-template-a\nip=10.0.0.7"),
				configMap("fence-template-a", "method.properties", "template=b"),
				configMap("b", "template.properties", half),
			},
			want: plan(sources("fence-config-node-7@1", "fence-template-a@1", "b@1")),
		},
		"comments, blank lines, indentation, carriage returns and - for _ change nothing": {
			maps: []ConfigMap{own("\r\n  # mine\n\n  node-name = 7\r\n\tpower-management =  ipmi \n",
				"  agent-name=fence-bmc\n# x\n\n\t action = off\n ipaddr=10.0.0.7\n login=fence\n secret=bmc-7\r\n")},
			want: plan(),
		},
		"a driver's name is an agent's name": {
			maps: []ConfigMap{own(config, "agent_name=bmc\naction=off\nip=10.0.0.7\nusername=fence\nsecret=bmc-7")},
			want: plan(),
		},
		"what agents take and drivers don't need is ignored": {
			maps: []ConfigMap{with("lanplus=1", "power-wait=4", "timeout=20", "method=onoff", "namespace=default")},
			want: plan(),
		},
		"a required parameter that is nowhere else is in the Secret (S29)": {
			maps: []ConfigMap{without("username=fence")},
			want: plan(func(p *Plan) {
				delete(p.Binding.Params, "username")
				p.Binding.SecretRefs = append(p.Binding.SecretRefs, api.SecretRef{Parameter: "username", Kind: api.KindSecret, Name: "bmc-7", Key: "username"})
			}),
		},
		"a literal password is a place in the plan and not a value (S29)": {
			maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=off\nip=10.0.0.7\nlogin=fence\npasswd=a #=b")},
			want: plan(literal("fence-config-node-7", "fence-method-ipmi/passwd")),
		},
		"a literal password of a template is a place in the template": {
			maps: []ConfigMap{
				own(config, "template=t\nip=10.0.0.7"),
				configMap("t", "template.properties", "agent_name=fence_bmc\naction=off\nusername=fence\npassword=x"),
			},
			want: plan(literal("t", "template.properties/password"), sources("fence-config-node-7@1", "t@1")),
		},
		"a reboot is an off, and an on that is kept for recovery (S4)": {
			maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=reboot\nip=10.0.0.7\nusername=fence\nsecret=bmc-7")},
			want: plan(rebooted),
		},
		"a cycle is no cycle either (S4)": {
			maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=cycle\nip=10.0.0.7\nusername=fence\nsecret=bmc-7")},
			want: plan(rebooted),
		},
		"no action is a reboot": {
			maps: []ConfigMap{without("action=off")},
			want: plan(rebooted),
		},
		"an on in power_management is kept and comes first in recovery (S4)": {
			maps: []ConfigMap{configMap("fence-config-node-7",
				"config.properties", "node_name=7\nisolation=cordon\npower_management=b-off b-on\nrecovery=uncordon\nkdump=enabled",
				"fence-method-b-off", good, "fence-method-b-on", "template=b\naction=on\nip=10.0.0.7\nmust_sucess=yes"),
				configMap("b", "template.properties", half)},
			want: plan(sources("fence-config-node-7@1", "b@1"), func(p *Plan) {
				p.Kdump, p.Binding.Kdump = true, true
				p.Isolation = []Step{{Method: "cordon", Do: MarkUnschedulable}}
				p.Power = []Step{{Method: "b-off", Do: Off}}
				p.Recovery = []Step{{Method: "b-on", Do: On, MustSucceed: true}, {Method: "uncordon", Do: MarkSchedulable}}
			}),
		},
		"kdump-wait is kdump=enabled as a method": {
			maps: []ConfigMap{own("node_name=7\nisolation=kdump-wait\npower_management=ipmi", good)},
			want: plan(func(p *Plan) {
				p.Kdump, p.Binding.Kdump = true, true
				p.Isolation = []Step{{Method: "kdump-wait", Do: KdumpWait}}
			}),
		},
		"an on in recovery is not doubled by a reboot": {
			maps: []ConfigMap{configMap("fence-config-node-7",
				"config.properties", "node_name=7\npower_management=r\nrecovery=uncordon on",
				"fence-method-r", "template=b\nip=10.0.0.7\naction=reboot", "fence-method-on", "template=b\naction=on\nip=10.0.0.7"),
				configMap("b", "template.properties", half)},
			want: plan(sources("fence-config-node-7@1", "b@1"), func(p *Plan) {
				p.Power = []Step{{Method: "r", Do: Off}}
				p.Recovery = []Step{{Method: "uncordon", Do: MarkSchedulable}, {Method: "on", Do: On}}
			}),
		},
		"the built-ins of every flow are accepted, and recovery undoes the mark that it names": {
			maps: []ConfigMap{own("node_name=7\nisolation=mark-unschedulable clean-pods out-of-service\npower_management=ipmi\nrecovery=mark-unschedulable uncordon mark_schedulable\nkdump=disabled", good)},
			want: plan(func(p *Plan) {
				p.Isolation = []Step{{Method: "mark-unschedulable", Do: MarkUnschedulable}, {Method: "clean-pods", Do: CleanPods}, {Method: "out-of-service", Do: OutOfService}}
				p.Recovery = []Step{{Method: "mark-unschedulable", Do: MarkSchedulable}, {Method: "uncordon", Do: MarkSchedulable}, {Method: "mark_schedulable", Do: MarkSchedulable}}
			}),
		},
		"a built-in may be the agent of a method": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config+"\nisolation=mark", "fence-method-ipmi", good,
				"fence-method-mark", "agent_name=cordon\nmust_success=yes")},
			want: plan(func(p *Plan) {
				p.Isolation = []Step{{Method: "mark", Do: MarkUnschedulable, MustSucceed: true}}
			}),
		},
		"a look is a step": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config+"\nisolation=look", "fence-method-ipmi", good,
				"fence-method-look", "template=b\naction=status\nip=10.0.0.7"), configMap("b", "template.properties", half)},
			want: plan(sources("fence-config-node-7@1", "b@1"), func(p *Plan) { p.Isolation = []Step{{Method: "look", Do: Status}} }),
		},
		"port and plug are one outlet": {
			maps: []ConfigMap{own(config, "template=p\nport=3"), configMap("p", "template.properties", "agent_name=fence_pdu\naction=off\nip=pdu-1\n")},
			want: plan(func(p *Plan) {
				p.Binding = api.Binding{Driver: "pdu", Address: "pdu-1#3", Identity: "uuid-7", Params: map[string]string{"ip": "pdu-1", "plug": "3"},
					Sources: read("fence-config-node-7@1", "p@1")}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolved(tc.maps, node7, settings())
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

func TestOlderName(t *testing.T) {
	older := func(named string) ConfigMap {
		return configMap("fence-config-node-7", "config.properties", "node_name="+named+"\npower_management=ipmi", "fence-method-ipmi", good)
	}
	shared := configMap("fence-config-default", "config.properties", "power_management=ipmi")
	for name, tc := range map[string]struct {
		maps []ConfigMap
		node string
		want string
	}{
		"fence-config-node-7 is node-7's if it says so":           {maps: []ConfigMap{older("node-7")}, node: "node-7"},
		"and then it is not node 7's":                             {maps: []ConfigMap{older("node-7")}, node: "7", want: `ConfigMap fence-config-node-7, key config.properties, line 1: node_name is "node-7", but the ConfigMap is read for node 7`},
		"it is left to node 7 if it says 7":                       {maps: []ConfigMap{older("7")}, node: "node-7", want: "no binding: there is no ConfigMap fence-config-node-node-7, fence-config-node-7, fence-config-default"},
		"it is refused if it says neither":                        {maps: []ConfigMap{older("8"), shared}, node: "node-7", want: `ConfigMap fence-config-node-7, key config.properties, line 1: node_name is "8", but the ConfigMap is read for node node-7`},
		"a type's ConfigMap is not that of a node with such name": {maps: []ConfigMap{configMap("fence-config-type-x")}, node: "type-x", want: "no binding: there is no ConfigMap fence-config-node-type-x, fence-config-type-x, fence-config-default"},
		"the default is not that of a node of that name":          {maps: []ConfigMap{shared}, node: "default", want: `ConfigMap fence-config-default, key config.properties, line 1: unknown method "ipmi"; known are clean-pods, cordon, delete-machine, kdump-wait, mark-schedulable, mark-unschedulable, out-of-service, restart-instance, start-instance, stop-instance, uncordon; there is no ConfigMap fence-method-ipmi-default or fence-method-ipmi either`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resolved(tc.maps, Node{Name: tc.node}, settings())
			if d := cmp.Diff(tc.want, words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

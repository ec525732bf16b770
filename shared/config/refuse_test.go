package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefuse(t *testing.T) {
	const (
		inConfig = "ConfigMap fence-config-node-7, key config.properties"
		inMethod = "ConfigMap fence-config-node-7, key fence-method-ipmi"
		builtIn  = "clean-pods, cordon, delete-machine, ipmi, kdump-wait, mark-schedulable, mark-unschedulable, out-of-service, restart-instance, start-instance, stop-instance, uncordon"
		params   = "action, agent_name, cipher, identity, ip, ipport, must_success, name, namespace, node_name, password, secret, settle, template, username"
	)
	for name, tc := range map[string]struct {
		maps []ConfigMap
		node *Node
		// agents: some are installed.
		agents bool
		want   string
	}{
		"no ConfigMap at all: the names are listed": {
			want: "no binding: there is no ConfigMap fence-config-node-7, fence-config-7, fence-config-type-rack, fence-config-default",
		},
		"a node without a name has nothing": {node: &Node{}, want: "the node has no name"},
		"the newer and the older name are two readings (S11)": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-7")},
			want: "ConfigMap fence-config-node-7: ConfigMap fence-config-7 is for node 7 as well; that can be read in two ways: delete one of them",
		},
		"one name twice": {maps: []ConfigMap{own(config, good), own(config, good)}, want: "ConfigMap fence-config-node-7: given twice"},
		"an address that no record takes": {
			maps: []ConfigMap{own(config, strings.Replace(good, "10.0.0.7", strings.Repeat("a", longest), 1))},
			want: inConfig + ": power-1 has an address or identity of 4100 letters; at most 4096 are allowed",
		},
		"a value that no record takes": {
			maps: []ConfigMap{own(config, strings.Replace(good, "username=", "username="+strings.Repeat("n", longest), 1))},
			want: inConfig + ": power-1 has a parameter username of 4101 letters; at most 4096 are allowed",
		},
		"no config.properties":              {maps: []ConfigMap{configMap("fence-config-node-7")}, want: inConfig + ": missing"},
		"no node_name":                      {maps: []ConfigMap{own("power_management=ipmi", good)}, want: inConfig + ": node_name is missing; it must be 7"},
		"another node's node_name":          {maps: []ConfigMap{own("#\nnode_name=8", good)}, want: inConfig + `, line 2: node_name is "8", but the ConfigMap is read for node 7`},
		"a node_name for a whole type":      {maps: []ConfigMap{configMap("fence-config-type-rack", "config.properties", config)}, want: "ConfigMap fence-config-type-rack, key config.properties, line 1: node_name is in a ConfigMap for many nodes; it belongs in fence-config-node-7"},
		"an unknown key":                    {maps: []ConfigMap{own(config+"\nisolate=cordon", good)}, want: inConfig + `, line 3: unknown key "isolate"; known are isolation, kdump, node_name, power_management, power_management_2, power_management_3, power_management_4, recovery`},
		"a key twice, with - and _":         {maps: []ConfigMap{own(config+"\npower-management=", good)}, want: inConfig + `, line 3: "power_management" is given twice; it stands in line 2 already`},
		"a line without =":                  {maps: []ConfigMap{own(config+"\ncordon", good)}, want: inConfig + ", line 3: not a key=value line"},
		"a line without a key":              {maps: []ConfigMap{own(config+"\n=x", good)}, want: inConfig + ", line 3: not a key=value line"},
		"kdump-wait in recovery":            {maps: []ConfigMap{own(config+"\nrecovery=kdump-wait", good)}, want: inConfig + `, line 3: method "kdump-wait" waits for a dump before the power is cut; it belongs in isolation or power_management`},
		"kdump takes two words":             {maps: []ConfigMap{own(config+"\nkdump=yes", good)}, want: inConfig + `, line 3: kdump is "yes"; it takes enabled or disabled`},
		"an unknown method":                 {maps: []ConfigMap{own("node_name=7\n\npower_management=ipmi foo", good)}, want: inConfig + `, line 3: unknown method "foo"; known are ` + builtIn + "; there is no ConfigMap fence-method-foo-7 or fence-method-foo either"},
		"an empty power_management":         {maps: []ConfigMap{own("node_name=7\npower_management=", good)}, want: inConfig + ", line 2: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"no power_management":               {maps: []ConfigMap{own("node_name=7", good)}, want: inConfig + ": nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"built-ins alone prove nothing":     {maps: []ConfigMap{own("node_name=7\npower_management=cordon", good)}, want: inConfig + ", line 2: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"a look alone proves nothing":       {maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=status\nip=a\nusername=b\nsecret=c")}, want: inConfig + ", line 2: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"an on alone proves nothing":        {maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=on\nip=a\nusername=b\nsecret=c")}, want: inConfig + ", line 2: nothing in power_management can prove the machine off: it has no method that switches a device off"},
		"the undoing belongs in recovery":   {maps: []ConfigMap{own(config+"\nisolation=uncordon", good)}, want: inConfig + `, line 3: method "uncordon" undoes the isolation; it belongs in recovery`},
		"power is not switched before time": {maps: []ConfigMap{own(config+"\nisolation=ipmi", good)}, want: inMethod + `, line 2: method "ipmi" switches power in isolation; it belongs in power_management`},
		"recovery never switches off":       {maps: []ConfigMap{own(config+"\nrecovery=ipmi", good)}, want: inMethod + `, line 2: method "ipmi" switches off in recovery, which takes action=on; without action= it is a reboot`},
		"a method with a built-in's name":   {maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=cordon", "fence-method-cordon", good)}, want: `ConfigMap fence-config-node-7, key fence-method-cordon: method "cordon" has the name of a built-in; that can be read in two ways: rename it`},
		"a parameter of a built-in":         {maps: []ConfigMap{own(config, "agent_name=cordon\nip=x")}, want: inMethod + `, line 2: "ip" has no meaning for a built-in`},
		"a method in two places (S11)": {
			maps: []ConfigMap{with(), configMap("fence-method-ipmi-7", "method.properties", good)},
			want: inConfig + `, line 2: method "ipmi" is both key fence-method-ipmi of ConfigMap fence-config-node-7 and key method.properties of ConfigMap fence-method-ipmi-7; that can be read in two ways: delete one of them`,
		},
		"a method's ConfigMap without its key": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config), configMap("fence-method-ipmi")},
			want: "ConfigMap fence-method-ipmi, key method.properties: missing",
		},
		"an unknown template": {
			maps: []ConfigMap{with("template=fence-method-template-x")},
			want: inMethod + `, line 6: unknown template "fence-method-template-x"; looked for key template.properties or method.properties in ConfigMap fence-method-template-x, fence-template-x`,
		},
		"a template in two places": {
			maps: []ConfigMap{with("template=x"), configMap("x", "template.properties", "", "method.properties", "")},
			want: inMethod + `, line 6: template "x" is both key template.properties of ConfigMap x and key method.properties of ConfigMap x; that can be read in two ways: delete one of them`,
		},
		"a template cycle": {
			maps: []ConfigMap{with("template=a"), configMap("a", "template.properties", "template=b"), configMap("b", "template.properties", "\ntemplate=a")},
			want: "ConfigMap b, key template.properties, line 2: template cycle: a, b, a; delete one of these template= lines",
		},
		"a method that is its own template": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config), configMap("fence-method-ipmi", "method.properties", "template=fence-method-ipmi")},
			want: "ConfigMap fence-method-ipmi, key method.properties, line 1: template cycle: fence-method-ipmi, fence-method-ipmi; delete one of these template= lines",
		},
		"no agent":                           {maps: []ConfigMap{without("agent_name=fence_bmc")}, want: inMethod + ": agent_name is missing; known are fence_bmc, fence_gone, fence_pdu"},
		"an unknown agent":                   {maps: []ConfigMap{own(config, "agent_name=fence-foo")}, want: inMethod + `, line 1: unknown agent "fence-foo"; known are fence_bmc, fence_gone, fence_pdu`},
		"an agent whose driver is not built": {maps: []ConfigMap{own(config, "agent_name=fence_gone")}, want: inMethod + `, line 1: unknown agent "fence_gone"; known are fence_bmc, fence_gone, fence_pdu`},
		"an unknown action":                  {maps: []ConfigMap{own(config, "agent_name=fence_bmc\naction=kill")}, want: inMethod + `, line 2: unknown action "kill"; known are on, off, reboot, cycle, status`},
		"must_success takes two words":       {maps: []ConfigMap{with("must_sucess=maybe")}, want: inMethod + `, line 6: "must_sucess" takes yes or no`},
		"a driver's key that is misspelt":    {maps: []ConfigMap{with("ciphr=3")}, want: inMethod + `, line 6: unknown parameter "ciphr" for driver bmc; did you mean cipher? known are ` + params},
		"an agent that is misspelt":          {maps: []ConfigMap{own(config, "agent_name=fence-bcm")}, want: inMethod + `, line 1: unknown agent "fence-bcm"; did you mean fence_bmc? known are fence_bmc, fence_gone, fence_pdu`},
		"a key of the node that is misspelt": {maps: []ConfigMap{own("node_name=7\npower_managment=ipmi", good)}, want: inConfig + `, line 2: unknown key "power_managment"; did you mean power_management? known are isolation, kdump, node_name, power_management, power_management_2, power_management_3, power_management_4, recovery`},
		"a method that is misspelt":          {maps: []ConfigMap{own("node_name=7\npower_management=impi", good)}, want: inConfig + `, line 2: unknown method "impi"; did you mean ipmi? known are ` + builtIn + "; there is no ConfigMap fence-method-impi-7 or fence-method-impi either"},
		"a method's key that is misspelt": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config, "fence-mehtod-ipmi", good)},
			want: inConfig + `, line 2: unknown method "ipmi"; nothing reads key fence-mehtod-ipmi of this ConfigMap, is it meant to be fence-method-ipmi? known are ` + strings.Replace(builtIn, "ipmi, ", "", 1) + "; there is no ConfigMap fence-method-ipmi-7 or fence-method-ipmi either",
		},
		"a template that is misspelt": {
			maps: []ConfigMap{with("template=fence-template-rack"), configMap("fence-template-rak", "template.properties", "")},
			want: inMethod + `, line 6: unknown template "fence-template-rack"; looked for key template.properties or method.properties in ConfigMap fence-template-rack; did you mean fence-template-rak?`,
		},
		"a template that is a key of the same ConfigMap": {
			maps: []ConfigMap{with("template=fence-method-ipmi")},
			want: inMethod + `, line 6: unknown template "fence-method-ipmi"; looked for key template.properties or method.properties in ConfigMap fence-method-ipmi; key fence-method-ipmi of ConfigMap fence-config-node-7 is a method, and a template is a ConfigMap of its own`,
		},
		"methods that name each other": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config), configMap("fence-method-ipmi", "method.properties", "template=fence-method-pdu"),
				configMap("fence-method-pdu", "method.properties", "agent_name=fence_pdu\ntemplate=fence-method-ipmi")},
			want: "ConfigMap fence-method-pdu, key method.properties, line 2: template cycle: fence-method-ipmi, fence-method-pdu, fence-method-ipmi; delete one of these template= lines",
		},
		"an unknown parameter":                 {maps: []ConfigMap{with("ipadress=x")}, want: inMethod + `, line 6: unknown parameter "ipadress" for driver bmc; known are ` + params},
		"an outlet of a device without any":    {maps: []ConfigMap{with("plug=3")}, want: inMethod + `, line 6: unknown parameter "plug" for driver bmc; known are ` + params},
		"a torn line is not shown (S29)":       {maps: []ConfigMap{with("RestOf/Secret==")}, want: inMethod + ", line 6: unknown parameter this key for driver bmc; known are " + params},
		"a parameter twice, by two names":      {maps: []ConfigMap{with("ipaddr=10.0.0.8")}, want: inMethod + `, line 6: "ipaddr" is given twice; it stands in line 3 already as "ip"`},
		"a reset in disguise (S4)":             {maps: []ConfigMap{with("method=cycle")}, want: inMethod + ", line 6: method=cycle is refused: a machine that was never seen off proves nothing; leave it out or write method=onoff"},
		"a way to switch that is not known":    {maps: []ConfigMap{with("method=foo")}, want: inMethod + ", line 6: method takes only onoff"},
		"a password in place of a Secret":      {maps: []ConfigMap{own(config, "agent_name=fence_bmc\nip=a\nusername=b\nsecret=Hunter2!")}, want: inMethod + ", line 4: secret= takes the name of a Secret, and this is not one"},
		"a password here and in the Secret":    {maps: []ConfigMap{with("passwd=x")}, want: inMethod + ", line 6: password is given here and by secret=bmc-7; delete one of them"},
		"a program":                            {maps: []ConfigMap{with("passwd-script=/bin/x")}, want: inMethod + `, line 6: "passwd_script" is refused: nodefence runs no programs that a ConfigMap names; put the value into a Secret and write secret=<its name>`},
		"what is missing is named":             {maps: []ConfigMap{own(config, "agent_name=fence_bmc")}, want: inMethod + ": missing ip, username, password for driver bmc"},
		"a Secret never says which machine":    {maps: []ConfigMap{without("ip=10.0.0.7")}, want: inMethod + ": missing ip for driver bmc"},
		"no value":                             {maps: []ConfigMap{with("cipher=")}, want: inMethod + `, line 6: "cipher" has no value`},
		"control characters":                   {maps: []ConfigMap{with("cipher=3\x1b[0m")}, want: inMethod + `, line 6: the value of "cipher" has control characters or is not UTF-8`},
		"control characters in what is unused": {maps: []ConfigMap{with("lanplus=\x00")}, want: inMethod + `, line 6: the value of "lanplus" has control characters or is not UTF-8`},
		"a comment behind a value":             {maps: []ConfigMap{with("cipher=3 # old")}, want: inMethod + `, line 6: the value of "cipher" has a # in it; put a comment on a line of its own`},
		"an address that the driver refuses":   {maps: []ConfigMap{own(config, "agent_name=fence_bmc\nip=10.0.0.0/8\nusername=b\nsecret=c")}, want: inMethod + ": ip is not an address"},
		"which machine, from a type (S11)": {
			maps: []ConfigMap{configMap("fence-config-type-rack", "config.properties", "power_management=ipmi", "fence-method-ipmi", good)},
			want: `ConfigMap fence-config-type-rack, key fence-method-ipmi, line 3: "ip" says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap fence-config-node-7 or fence-method-ipmi-7`,
		},
		"which machine, from a general method (S11)": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", config), configMap("fence-method-ipmi", "method.properties", good)},
			want: `ConfigMap fence-method-ipmi, key method.properties, line 3: "ip" says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap fence-config-node-7 or fence-method-ipmi-7`,
		},
		"which machine, from a template, be it another node's method (S11)": {
			maps: []ConfigMap{own(config, "template=fence-method-ipmi-8"), configMap("fence-method-ipmi-8", "method.properties", good)},
			want: `ConfigMap fence-method-ipmi-8, key method.properties, line 3: "ip" says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap fence-config-node-7 or fence-method-ipmi-7`,
		},
		"one device by two drivers": {
			maps:   []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=ipmi b", "fence-method-ipmi", "agent_name=fence_pdu\nip=p\nplug=1\naction=off", "fence-method-b", "agent_name=fence_two\nip=p\nplug=1\naction=off")},
			want:   inConfig + ": methods ipmi and b use the same device, p#1, with different drivers, pdu and fence_two; that can be read in two ways: choose one",
			agents: true,
		},
		"a list with commas":                  {maps: []ConfigMap{own("node_name=7\npower_management=ipmi, on", good)}, want: inConfig + `, line 2: unknown method "ipmi,"; methods are separated by blanks, without commas`},
		"a method that is another node's":     {maps: []ConfigMap{with("node_name=8")}, want: inMethod + `, line 6: node_name is "8", but the method is read for node 7`},
		"a built-in by a script of one's own": {maps: []ConfigMap{own(config, "agent_name=cordon\nscript_path=/opt/mine.sh")}, want: inMethod + `, line 2: "script_path" is refused: nodefence runs no programs that a ConfigMap names; delete the line, and nodefence does it itself`},
		"a fabric can't prove the machine off": {
			agents: true,
			maps:   []ConfigMap{own(config, "agent_name=fence_fc\nplug=1\naction=off")},
			want:   inMethod + ", line 1: agent fence_fc is refused: it cuts off storage or network, and the machine runs on",
		},
		"a fabric that must succeed": {
			agents: true,
			maps:   []ConfigMap{configMap("fence-config-node-7", "config.properties", config+"\nisolation=fc", "fence-method-ipmi", good, "fence-method-fc", "agent_name=fence_fc\nmust_success=yes")},
			want:   `ConfigMap fence-config-node-7, key fence-method-fc, line 2: method "fc" must succeed, and in a Job nothing is cut off from storage or network: leave job_image out, or delete the line or the method`,
		},
		"a fabric the wrong way round": {
			agents: true,
			maps:   []ConfigMap{configMap("fence-config-node-7", "config.properties", config+"\nisolation=fc", "fence-method-ipmi", good, "fence-method-fc", "agent_name=fence_fc\naction=on")},
			want:   `ConfigMap fence-config-node-7, key fence-method-fc: method "fc": in isolation its action is off, in recovery it is on`,
		},
		"an agent that is not there":     {agents: true, maps: []ConfigMap{own(config, "agent_name=fence_bmd")}, want: inMethod + ", line 1: agent fence_bmd is not installed; did you mean fence_bmc?"},
		"an agent that is not installed": {agents: true, maps: []ConfigMap{own(config, "agent_name=fence-other")}, want: inMethod + ", line 1: agent fence_other is not installed"},
		"one device in two ways": {
			maps: []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=ipmi b", "fence-method-ipmi", good, "fence-method-b", good+"\ncipher=17")},
			want: inConfig + ": methods ipmi and b give different values of cipher for one device",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := node7
			if tc.node != nil {
				n = *tc.node
			}
			s := settings()
			if tc.agents {
				s = finding(s)
			}
			got, err := resolved(tc.maps, n, s)
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
}

func TestAskedForElsewhere(t *testing.T) {
	for _, line := range []string{"isolation=detach-volumes\npower_management=ipmi", "isolation=detach_volumes\npower_management=ipmi", "power_management=detach-volumes"} {
		method, _, _ := strings.Cut(line[strings.Index(line, "=")+1:], "\n")
		want := "ConfigMap fence-config-node-7, key config.properties, line 2: method \"" + method + "\" is no step of a node: release.resourceDeletion.detachFirst of the node's FencePolicy names the volumes or storage classes to detach before any pod is deleted"
		_, err := resolved([]ConfigMap{own("node_name=7\n"+line, good)}, node7, settings())
		if d := cmp.Diff(want, words(err)); d != "" {
			t.Error(d)
		}
	}
}

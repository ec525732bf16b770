//go:build linux

package agent

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// oursKind is the kind of our agent, without a call for its metadata.
func oursKind(t *testing.T) (*metadata, device.Kind) {
	t.Helper()
	m, err := parse("fence_ours", "/nowhere/fence_ours", []byte(oursMetadata))
	if err != nil {
		t.Fatal(err)
	}
	return m, device.Kind{Params: m.declare(), Address: m.address, Denied: m.why, Open: m.open}
}

func TestParams(t *testing.T) {
	_, k := oursKind(t)
	want := []device.Param{
		{Name: "ip"},
		{Name: "username", Required: true},
		{Name: "password", Secret: true},
		{Name: "plug", Required: true, Machine: true},
		{Name: "ssl"}, {Name: "lanplus"}, {Name: "level"}, {Name: "shell_timeout"},
	}
	if d := cmp.Diff(want, k.Params); d != "" {
		t.Error(d)
	}
}

// TestRefused: none of these gets as far as a run, because there is no agent.
func TestRefused(t *testing.T) {
	const param = "parameter %s of agent fence_ours"
	p := func(name, why string) string { return strings.Replace(param, "%s", name, 1) + why }
	const known = "; known are ip, lanplus, level, password, plug, shell_timeout, ssl, username"
	for name, tc := range map[string]struct {
		change map[string]string
		want   string
	}{
		"nothing":                   {nil, ""},
		"older names":               {map[string]string{"ip": "", "ipaddr": "pdu.example", "plug": "", "port": "7", "username": "", "login": "fence", "password": "", "passwd": password}, ""},
		"a dash":                    {map[string]string{"shell-timeout": "5"}, ""},
		"method as it is anyway":    {map[string]string{"method": "onoff"}, ""},
		"a word of the list":        {map[string]string{"level": "OPERATOR"}, ""},
		"a misspelt action":         {map[string]string{"acton": "off"}, "unknown parameter acton of agent fence_ours" + known},
		"a piece of a secret":       {map[string]string{"hunter 2": "off"}, "unknown parameter (not shown) of agent fence_ours" + known},
		"an action":                 {map[string]string{"action": "off"}, p("action", " is refused: "+ours)},
		"a retry":                   {map[string]string{"retry_on": "5"}, p("retry_on", " is refused: "+ours)},
		"a program":                 {map[string]string{"telnet-path": "/bin/sh"}, p("telnet-path", " is refused: "+runs)},
		"a script":                  {map[string]string{"passwd_script": "/bin/sh"}, p("passwd_script", " is refused: "+runs)},
		"missing is off":            {map[string]string{"missing_as_off": "0"}, p("missing_as_off", " is refused: "+lies)},
		"cycle":                     {map[string]string{"method": "cycle"}, p("method", " is refused: nodefence switches off, sees it, and switches on; write method=onoff, or leave it out")},
		"both names":                {map[string]string{"ipaddr": "pdu.example"}, p("ip", " is given twice, in two spellings")},
		"a line break":              {map[string]string{"username": "fence\naction=reboot"}, p("username", ": the value has a line break or another control character")},
		"a line break in a secret":  {map[string]string{"password": "x\n"}, p("password", ": the value has a line break or another control character")},
		"a carriage return":         {map[string]string{"username": "fence\raction=reboot"}, p("username", ": the value has a line break or another control character")},
		"a nul":                     {map[string]string{"username": "fence\x00"}, p("username", ": the value has a line break or another control character")},
		"no text":                   {map[string]string{"username": "\xff"}, p("username", ": the value has a line break or another control character")},
		"a blank that gets lost":    {map[string]string{"password": "x "}, p("password", ": the value begins or ends with a blank, which agents drop")},
		"quotes that get lost":      {map[string]string{"password": `"x"`}, p("password", ": the value stands in quotation marks, which agents drop")},
		"a value without end":       {map[string]string{"username": strings.Repeat("x", 4097)}, p("username", ": the value is longer than 4096 bytes")},
		"an option":                 {map[string]string{"username": "-x"}, p("username", `: "-x" begins like an option`)},
		"more arguments":            {map[string]string{"username": "a -I open"}, p("username", `: "a -I open" has ' ' in it, which the agent may take for something else`)},
		"a shell's":                 {map[string]string{"plug": "7;reboot"}, p("plug", `: "7;reboot" has ';' in it, which the agent may take for something else`)},
		"two outlets":               {map[string]string{"plug": "7,8"}, p("plug", `: "7,8" is more than one machine`)},
		"all outlets":               {map[string]string{"plug": "*"}, p("plug", `: "*" may be read as a pattern, and choose another machine`)},
		"not a word of the list":    {map[string]string{"level": "root"}, p("level", `: "root" is none of user, operator`)},
		"not a number":              {map[string]string{"shell_timeout": "5s"}, p("shell_timeout", `: "5s" is not a number`)},
		"less than nothing":         {map[string]string{"shell_timeout": "-1"}, p("shell_timeout", `: "-1" is not a number`)},
		"not a yes":                 {map[string]string{"ssl": "please"}, p("ssl", `: "please" is not a yes or a no`)},
		"a credential in a URL":     {map[string]string{"username": "https://u:hunter2@x"}, p("username", ": it is a URL with a credential in it, which belongs into a Secret")},
		"no outlet":                 {map[string]string{"plug": ""}, p("plug", " is missing: it says which machine is meant")},
		"no device":                 {map[string]string{"ip": ""}, "agent fence_ours: ip is missing"},
		"everybody's device":        {map[string]string{"ip": "255.255.255.255"}, `agent fence_ours: ip "255.255.255.255" is not one machine's`},
		"a device with a port":      {map[string]string{"ip": "pdu:23"}, `agent fence_ours: ip "pdu:23" is neither an address nor a host's name`},
		"nobody to log in as":       {map[string]string{"username": ""}, "agent fence_ours needs username"},
		"nobody, from a Secret yet": {map[string]string{"password": ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, k := oursKind(t)
			in := map[string]string{"ip": "pdu.example", "plug": "7", "username": "fence", "password": password}
			maps.Copy(in, tc.change)
			maps.DeleteFunc(in, func(_, v string) bool { return v == "" })
			d, err := k.Open(in)
			if devicetest.Words(err) != tc.want || (d == nil) != (tc.want != "") {
				t.Errorf("open: %v\nwant  %s", err, tc.want)
			}
			// A configuration is refused when it is read, except for what it does not contain
			// itself.
			if _, err := k.Address(in); devicetest.Words(err) != tc.want && name != "nobody to log in as" {
				t.Errorf("address: %v\nwant  %s", err, tc.want)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	_, k := oursKind(t)
	for name, want := range map[string]string{
		"ip": "", "delay": "", "verbose": "", "acton": "", "action": "", "password": "", "method": "",
		"telnet_path":    "parameter telnet_path of agent fence_ours is refused: " + runs,
		"missing_as_off": "parameter missing_as_off of agent fence_ours is refused: " + lies,
	} {
		if got := k.Denied(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

const systems = "/redfish/v1/Systems/1"

func TestAddress(t *testing.T) {
	plugs := []string{"plug", "ip", "ipport", "switch", "community"}
	bmc := []string{"plug", "port_as_ip", "ip", "ipport", "ssl", "telnet_path"}
	redfish := []string{"plug", "port_as_ip", "ip", "ipport", "ssl=1", "systems_uri", "target"}
	for name, tc := range map[string]struct {
		has  []string
		in   map[string]string
		want string
		err  string
	}{
		"an outlet":                         {has: plugs, in: map[string]string{"ip": "PDU.example.", "plug": "7"}, want: "pdu.example#7"},
		"by another protocol":               {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "7", "ipport": "23"}, want: "pdu.example#7"},
		"with zeros":                        {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "007"}, want: "pdu.example#7"},
		"zero":                              {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "00"}, want: "pdu.example#0"},
		"the first switch":                  {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "7", "switch": "1"}, want: "pdu.example#7"},
		"the first switch, as older agents": {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "1:7"}, want: "pdu.example#7"},
		"the second switch":                 {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "7", "switch": "02"}, want: "pdu.example#2:7"},
		"the second, as older agents":       {has: plugs, in: map[string]string{"ip": "pdu.example", "plug": "2:7"}, want: "pdu.example#2:7"},
		"a name":                            {has: plugs, in: map[string]string{"ip": "10.0.0.9", "plug": "Node-A"}, want: "10.0.0.9#node-a"},
		"a UUID":                            {has: plugs, in: map[string]string{"ip": "10.0.0.9", "plug": "00112233-4455-6677-8899-AABBCCDDEEFF"}, want: "10.0.0.9#00112233-4455-6677-8899-aabbccddeeff"},
		"a UUID without dashes":             {has: plugs, in: map[string]string{"ip": "10.0.0.9", "plug": "00112233445566778899aabbccddeeff"}, want: "10.0.0.9#00112233-4455-6677-8899-aabbccddeeff"},
		"a cloud":                           {has: []string{"plug", "zone"}, in: map[string]string{"plug": "node-a", "zone": "x"}, want: "fence_test#node-a"},
		"a BMC by Telnet":                   {has: bmc, in: map[string]string{"ip": "10.0.0.7"}, want: "10.0.0.7:23"},
		"a BMC by TLS":                      {has: bmc, in: map[string]string{"ip": "10.0.0.7", "ssl": "yes"}, want: "10.0.0.7:443"},
		"a BMC at a port":                   {has: bmc, in: map[string]string{"ip": "10.0.0.7", "ipport": "0623"}, want: "10.0.0.7:623"},
		"a BMC's plug":                      {has: bmc, in: map[string]string{"ip": "10.0.0.7", "plug": "10.0.0.8"}, err: "unknown parameter plug of agent fence_test; known are ip, ipport, ssl"},
		"a BMC without an address":          {has: bmc, in: map[string]string{"ssl": "1"}, err: "agent fence_test: ip is missing"},
		"a BMC at no port":                  {has: bmc, in: map[string]string{"ip": "10.0.0.7", "ipport": "bmc"}, err: `agent fence_test: ipport "bmc" is not a port`},
		"a system":                          {has: redfish, in: map[string]string{"ip": "10.0.0.7", "systems_uri": systems + "/"}, want: "10.0.0.7:443/redfish/v1/systems/1"},
		"the last system":                   {has: redfish, in: map[string]string{"ip": "10.0.0.7"}, err: "parameter systems_uri of agent fence_test is missing: it says which machine is meant"},
		"a system by a detour":              {has: redfish, in: map[string]string{"ip": "10.0.0.7", "systems_uri": "/redfish/v1/../1"}, err: `parameter systems_uri of agent fence_test: "/redfish/v1/../1" is not a path such as /redfish/v1/Systems/1`},
		"behind a BMC":                      {has: redfish, in: map[string]string{"ip": "10.0.0.7", "systems_uri": systems, "target": "0x72"}, want: "10.0.0.7:443/0x72/redfish/v1/systems/1"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &metadata{agent: "fence_test"}
			for _, h := range tc.has {
				n, usual, _ := strings.Cut(h, "=")
				m.params = append(m.params, param{name: n, word: n, usual: usual, kind: map[bool]string{true: "boolean"}[n == "ssl"]})
			}
			got, err := m.address(tc.in)
			if got != tc.want || devicetest.Words(err) != tc.err {
				t.Errorf("%q, %v\nwant %q, %s", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestKind(t *testing.T) {
	dir := t.TempDir()
	const head, tail = `<resource-agent name="x"><parameters>`, `</actions></resource-agent>`
	const plug = `<parameter name="plug"/></parameters><actions>`
	const three = `<action name="off"/><action name="status"/><action name="on"/>`
	agents := map[string]string{
		"fence_silent":  "exit 0",
		"fence_broken":  "echo '<resource-agent>'",
		"fence_html":    "echo '<html></html>'",
		"fence_fails":   "echo no module named x >&2; exit 1",
		"fence_fabric":  "echo '" + head + plug + `<action name="off"/><action name="status"/><action name="on" automatic="1"/>` + tail + "'",
		"fence_reboots": "echo '" + head + plug + `<action name="reboot"/><action name="status"/>` + tail + "'",
		"fence_blind":   "echo '" + head + "</parameters><actions>" + three + tail + "'",
		"fence_deaf":    "echo '" + head + plug + three + tail + "'",
		"fence_amt":     "echo '" + head + plug + three + `<action name="list"/>` + tail + "'",
		"fence_virsh":   "echo '" + head + plug + three + tail + "'",
		"fence_good":    "echo '" + head + plug + three + `<action name="list"/>` + tail + "'",
	}
	for name, does := range agents {
		if err := os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/fence_text", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const read = "read the metadata of agent "
	for name, want := range map[string]string{
		"fence_good":    "",
		"fence-good":    "",
		"fence_gone":    "agent fence_gone is not installed: there is no " + dir + "/fence_gone; add it to the image of the functions (Debian: fence-agents), or set NODEFENCE_AGENTS_DIR to where it is",
		"fence_text":    "agent fence_text can't be run: " + dir + "/fence_text is not an executable file",
		"fence_../good": `"fence_../good" is not the name of a fence agent, such as fence_apc`,
		"sh":            `"sh" is not the name of a fence agent, such as fence_apc`,
		"fence_silent":  read + "fence_silent: it is not the XML of a fence agent: EOF",
		"fence_broken":  read + "fence_broken: it is not the XML of a fence agent: XML syntax error on line 2: unexpected EOF",
		"fence_html":    read + "fence_html: it is not the XML of a fence agent: expected element type <resource-agent> but have <html>",
		"fence_fails":   read + "fence_fails: it exits with 1: no module named x",
		"fence_fabric":  "agent fence_fabric is refused: it cuts off storage or network, and the machine runs on",
		"fence_reboots": "agent fence_reboots is refused: it can't tell the power, switch off and switch on",
		"fence_blind":   "agent fence_blind is refused: its metadata has no parameter for the machine",
		"fence_deaf":    "agent fence_deaf is refused: it can't list its machines, and says off for one that does not exist as far as anybody here knows",
		"fence_amt":     "agent fence_amt is refused: it calls a machine off that sleeps, and one whose power state it does not understand; name another device of the machine, such as an outlet, or driver manual",
		"fence_virsh":   "agent fence_virsh is refused: it calls a machine off that is still shutting down, and one whose state it does not understand",
	} {
		k, err := Kind(name, dir)
		if devicetest.Words(err) != want || err == nil && k.Name != "fence_good" {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
}

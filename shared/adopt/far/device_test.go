package far

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// bmc is a spec as users write it: one BMC a node, by its own address.
func bmc(change func(*Spec)) Spec {
	s := Spec{
		Agent:            "fence_ipmilan",
		SharedParameters: map[string]string{"--username": "admin", "--lanplus": "", "--action": "reboot"},
		NodeParameters:   map[string]map[string]string{"--ip": {"a": "192.0.2.1", "b": "192.0.2.2"}, "--ipport": {"a": "6230", "b": "6231"}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

// TestRead: what a spec gives a node, and each fault with its field. A node that is missing among
// others gets nothing of theirs (S9, S11).
func TestRead(t *testing.T) {
	count := int64(-1)
	secret, unchosen := "mine", DefaultSecret
	for name, c := range map[string]struct {
		spec Spec
		node string
		want string
	}{
		"a node's own over the shared":  {bmc(nil), "b", "ip=192.0.2.2 ipport=6231 lanplus=1 username=admin, reboot"},
		"the action off":                {bmc(func(s *Spec) { s.SharedParameters["--action"] = "off" }), "a", "ip=192.0.2.1 ipport=6230 lanplus=1 username=admin, off"},
		"the node's own action":         {bmc(func(s *Spec) { s.NodeParameters["--action"] = map[string]string{"a": "off", "b": "reboot"} }), "a", "ip=192.0.2.1 ipport=6230 lanplus=1 username=admin, off"},
		"an override of the shared":     {bmc(func(s *Spec) { s.NodeParameters["--username"] = map[string]string{"a": "root"} }), "a", "ip=192.0.2.1 ipport=6230 lanplus=1 username=root, reboot"},
		"the shared, where others have": {bmc(func(s *Spec) { s.NodeParameters["--username"] = map[string]string{"a": "root"} }), "b", "ip=192.0.2.2 ipport=6231 lanplus=1 username=admin, reboot"},
		"the node's name filled in": {Spec{Agent: "fence_aws", SharedParameters: map[string]string{"--plug": "{{ .NodeName }}.example", "--region": "eu"}}, "a",
			"plug=a.example region=eu, reboot"},
		"a node's own is taken as it is": {Spec{Agent: "fence_aws", NodeParameters: map[string]map[string]string{"--plug": {"a": "{{.NodeName}}"}}}, "a", "plug={{.NodeName}}, reboot"},
		"flags with capital letters": {Spec{Agent: "fence_azure_arm", SharedParameters: map[string]string{"--resourceGroup": "rg", "--subscriptionId": "s"}, NodeParameters: map[string]map[string]string{"--plug": {"a": "vm-a"}}}, "a",
			"plug=vm-a resourceGroup=rg subscriptionId=s, reboot"},
		"the Secret that older CRDs wrote": {bmc(func(s *Spec) { s.SharedSecretName = &unchosen }), "a", "ip=192.0.2.1 ipport=6230 lanplus=1 username=admin, reboot"},
		"its Secrets": {bmc(func(s *Spec) { s.SharedSecretName, s.NodeSecretNames = &secret, map[string]string{"a": "own"} }), "a",
			"ip=192.0.2.1 ipport=6230 lanplus=1 username=admin, reboot, secrets mine own"},

		"no agent":             {Spec{}, "a", `spec.agent: "" is not the name of a fence agent, such as fence_ipmilan`},
		"a path":               {Spec{Agent: "fence_../x"}, "a", `spec.agent: "fence_../x" is not`},
		"the node is missing":  {bmc(nil), "c", "spec.nodeparameters[--ip]: node c is missing, and other nodes are listed: add it"},
		"it is missing in one": {bmc(func(s *Spec) { delete(s.NodeParameters["--ipport"], "b") }), "b", "spec.nodeparameters[--ipport]: node b is missing"},
		"it is missing, and all has a shared value": {bmc(func(s *Spec) {
			s.NodeParameters = map[string]map[string]string{"--username": {"a": "root"}}
			s.SharedParameters["--ip"] = "{{.NodeName}}"
		}), "b", "spec.nodeparameters: node b is missing"},
		"nothing of one node": {Spec{Agent: "fence_ipmilan", SharedParameters: map[string]string{"--ip": "192.0.2.1"}}, "a", "spec: nothing in it is about node a alone"},
		"an action":           {bmc(func(s *Spec) { s.SharedParameters["--action"] = "cycle" }), "a", `spec.sharedparameters[--action]: the action is "cycle": only reboot and off are carried out`},
		"a node's action":     {bmc(func(s *Spec) { s.NodeParameters["--action"] = map[string]string{"a": "on"} }), "a", `spec.nodeparameters[--action][a]: the action is "on"`},
		"a template":          {bmc(func(s *Spec) { s.SharedParameters["--x"] = `{{printf "%9999999d" 1}}` }), "a", "spec.sharedparameters[--x]: the template can't be read: only {{.NodeName}} is filled in"},
		"another template":    {bmc(func(s *Spec) { s.SharedParameters["--x"] = "{{.Secret}}" }), "a", "spec.sharedparameters[--x]: the template can't be read"},
		"an open template":    {bmc(func(s *Spec) { s.SharedParameters["--x"] = "{{.NodeName" }), "a", "spec.sharedparameters[--x]: the template can't be read"},
		"a line break":        {bmc(func(s *Spec) { s.SharedParameters["--x"] = "1\naction=on" }), "a", "spec.sharedparameters[--x]: the value has control characters or line breaks"},
		"a blank":             {bmc(func(s *Spec) { s.SharedParameters["--x"] = "1 " }), "a", "spec.sharedparameters[--x]: the value begins or ends with a blank"},
		"a short flag":        {bmc(func(s *Spec) { s.SharedParameters["-a"] = "1" }), "a", `spec.sharedparameters: "-a" is no long flag, such as --ip`},
		"a flag with a line":  {bmc(func(s *Spec) { s.SharedParameters["--a=1\nb"] = "1" }), "a", "spec.sharedparameters: a key of it is no long flag"},
		"twice":               {bmc(func(s *Spec) { s.SharedParameters["--x-y"], s.SharedParameters["--x_y"] = "1", "2" }), "a", "spec.sharedparameters[--x_y]: it is given as spec.sharedparameters[--x-y] as well: delete one of them"},
		"a word of ours":      {bmc(func(s *Spec) { s.SharedParameters["--job-image"] = "evil" }), "a", "spec.sharedparameters[--job-image]: it is no parameter of a fence agent"},
		"a strategy":          {bmc(func(s *Spec) { s.RemediationStrategy = "None" }), "a", `spec.remediationStrategy: "None" is none: write ResourceDeletion or OutOfServiceTaint`},
		"an interval":         {bmc(func(s *Spec) { s.RetryInterval = "5" }), "a", `spec.retryinterval: "5" is no duration, such as 60s`},
		"a timeout":           {bmc(func(s *Spec) { s.Timeout = "-1s" }), "a", `spec.timeout: "-1s" is no duration`},
		"a count":             {bmc(func(s *Spec) { s.RetryCount = &count }), "a", "spec.retrycount: -1 is less than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(c.spec, c.node)
			got := words(d)
			if err != nil {
				var i *Invalid
				if !errors.As(err, &i) {
					t.Errorf("%T", err)
				}
				if got = err.Error(); strings.HasPrefix(got, c.want) || strings.HasSuffix(got, c.want) {
					return
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func words(d Device) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		all = append(all, name+"="+d.Params[name].Value)
	}
	out := strings.Join(all, " ") + ", reboot"
	if d.LeaveOff {
		out = strings.TrimSuffix(out, "reboot") + "off"
	}
	if d.SharedSecret != DefaultSecret || d.NodeSecret != "" || !d.Optional {
		out += ", secrets " + d.SharedSecret + " " + d.NodeSecret
	}
	return out
}

// TestTimes: what is not given is that project's default, and tries have a policy's bounds.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		count             int64
		interval, timeout string
		want              Device
	}{
		{-1, "", "", Device{Retries: 5, Interval: 5 * time.Second, Timeout: time.Minute}},
		{0, "0s", "1m30s", Device{Retries: 1, Interval: 0, Timeout: 90 * time.Second}},
		{1 << 40, "10ms", "24h", Device{Retries: 100, Interval: 10 * time.Millisecond, Timeout: 24 * time.Hour}},
	} {
		d, err := Read(bmc(func(s *Spec) {
			if s.RetryInterval, s.Timeout = c.interval, c.timeout; c.count >= 0 {
				s.RetryCount = &c.count
			}
		}), "a")
		if err != nil || d.Retries != c.want.Retries || d.Interval != c.want.Interval || d.Timeout != c.want.Timeout {
			t.Errorf("%d %s %s: %d %s %s, %v", c.count, c.interval, c.timeout, d.Retries, d.Interval, d.Timeout, err)
		}
	}
}

// TestLines: each line of the method has the field that it came from, and there is one Secret, the
// node's own before the shared one.
func TestLines(t *testing.T) {
	d, err := Read(bmc(func(s *Spec) { s.NodeSecretNames = map[string]string{"a": "own"} }), "a")
	if err != nil {
		t.Fatal(err)
	}
	config, method, fields := d.Lines("a")
	if config != "node_name=a\npower_management=far\n" {
		t.Error(config)
	}
	want := "agent_name=fence_ipmilan|spec.agent\naction=reboot|spec.sharedparameters[--action]\nip=192.0.2.1|spec.nodeparameters[--ip][a]\n" +
		"ipport=6230|spec.nodeparameters[--ipport][a]\nlanplus=1|spec.sharedparameters[--lanplus]\nusername=admin|spec.sharedparameters[--username]\nsecret=own|spec.nodeSecretNames[a]"
	lines := strings.Split(strings.TrimSuffix(method, "\n"), "\n")
	for i := range lines {
		lines[i] += "|" + fields[i]
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Listed(bmc(nil)); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

// FuzzRender: whatever a value is, the node's name stands where {{.NodeName}} stood, and an error
// does not show the value (S29).
func FuzzRender(f *testing.F) {
	for _, s := range []string{"", "x", "{{.NodeName}}", "a{{ .NodeName -}} b", "{{.NodeName}}{{.NodeName}}", "{{/* c */}}", "{{if .NodeName}}x{{end}}", "{{$x := .NodeName}}", "{{.NodeName.X}}", "{{`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, named, err := Render(s, "node-7")
		switch {
		case err != nil && !errors.Is(err, errTemplate):
			t.Error(err)
		case err == nil && named && !strings.Contains(out, "node-7"):
			t.Errorf("%q became %q", s, out)
		case err == nil && !named && !strings.Contains(s, "{{") && out != s:
			t.Errorf("%q became %q", s, out)
		}
	})
}

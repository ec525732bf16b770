package ec2_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/test/rig/port"
)

const (
	alone = "sg-0aaaaaaaaaaaaaaaa"
	quiet = "sg-0dddddddddddddddd"
	nodes = "sg-0bbbbbbbbbbbbbbbb"
	world = "sg-0cccccccccccccccc"
	first = "eni-0123456789abcdef0"
	other = "eni-0fedcba9876543210"
	saved = "nodefence.io/security-groups/"
	by    = saved + "isolated-by="
)

// wired is served with network interfaces.
func wired(t testing.TB, interfaces ...ec2test.Interface) *served {
	t.Helper()
	s := serve(t)
	s.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: region + "a", Interfaces: interfaces, Tags: map[string]string{"Name": "worker-7"}})
	s.Show = func(i ec2test.Instance) ec2test.Instance {
		i = s.show(i)
		i.Interfaces = slices.Clone(i.Interfaces)
		for k := range i.Interfaces {
			if n := &i.Interfaces[k]; n.Next != nil && s.Is(devicetest.Early, devicetest.Lie) {
				n.Groups = n.Next
			}
		}
		return i
	}
	return s
}

func (s *served) setNetFault(t testing.TB, fault string) {
	t.Helper()
	s.setFault(t, fault)
	no := ec2test.Refusal{}
	if fault == devicetest.Refuse || fault == devicetest.Mute {
		no = ec2test.Refusal{Status: http.StatusBadRequest, Code: "OperationNotPermitted", Message: "You do not have permission\n for this interface."}
	}
	for _, name := range []string{"ModifyNetworkInterfaceAttribute", "CreateTags", "DeleteTags"} {
		s.Refuse(name, no)
	}
}

// rewired are the suite's words for what was accepted.
func (s *served) rewired() []string {
	var words []string
	for _, a := range s.Actions() {
		switch {
		case a.Refused != "" || a.Name != "ModifyNetworkInterfaceAttribute":
		case slices.Equal(a.Groups, []string{alone}):
			words = append(words, "off")
		default:
			words = append(words, "on")
		}
	}
	return words
}

func dialNetwork(t testing.TB, url string) device.Driver {
	t.Helper()
	d, err := ec2.NetworkKind().Open(map[string]string{
		"instance": id, "region": region, "endpoint": url, "access_key": key, "secret_key": secret, "group": alone,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNetworkConformance(t *testing.T) { devicetest.Run(t, networkHarness()) }

func BenchmarkNetworkOffRead(b *testing.B) { devicetest.OffRead(b, "ec2-network", networkHarness()) }

func networkHarness() devicetest.Harness {
	return devicetest.Harness{
		Against:  "ec2-network",
		Secrets:  []string{key, secret, changed},
		Identity: id,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := wired(t, ec2test.Interface{ID: first, Groups: []string{nodes}})
			s.setNetFault(t, fault)
			url := s.url
			if fault == devicetest.Unreachable {
				url = "http://" + port.Nobody(t)
			}
			return devicetest.Machine{
				Driver:   dialNetwork(t, url),
				On:       func() bool { return !slices.Equal(s.InstanceOf(id).Interfaces[0].Groups, []string{alone}) },
				Commands: s.rewired,
				SetFault: func(fault string) { s.setNetFault(t, fault) },
				Settle:   s.Settle,
			}
		},
	}
}

// TestNetworkStates: what interfaces read as, and what Off and On do to them.
func TestNetworkStates(t *testing.T) {
	type eni = ec2test.Interface
	type after struct {
		Power            device.Power
		InPart, State    string
		Off, On          []string
		OffTags, OnTags  []string
		OffError, OnText string
	}
	tagged := func(groups string) map[string]string { return map[string]string{saved + first: groups} }
	byQuiet := tagged(nodes + " " + world)
	byQuiet[saved+other], byQuiet[saved+"isolated-by"] = nodes, quiet
	for name, tc := range map[string]struct {
		interfaces []eni
		tags       map[string]string
		want       after
	}{
		"connected": {[]eni{{ID: first, Groups: []string{world, nodes}}, {ID: other, Groups: []string{nodes}}}, nil, after{
			Power: device.On, Off: []string{"save", first + " " + alone, other + " " + alone},
			OffTags: []string{saved + first + "=" + nodes + " " + world, saved + other + "=" + nodes, by + alone},
		}},
		"isolated by us": {[]eni{{ID: first, Groups: []string{alone}}}, tagged(nodes + " " + world), after{
			Power: device.Off, On: []string{first + " " + nodes + "," + world, "forget"}, OffTags: []string{saved + first + "=" + nodes + " " + world},
		}},
		"isolated by somebody else (S12)": {[]eni{{ID: first, Groups: []string{alone}}}, nil, after{
			Power:  device.Off,
			OnText: "device refused in its present state: instance " + id + " has no tag " + saved + "<interface> that says which security groups to give back to " + first + "; give them back by hand",
		}},
		"a tag that says nothing": {[]eni{{ID: first, Groups: []string{alone}}}, tagged("all"), after{
			Power: device.Off, OffTags: []string{saved + first + "=all"}, OnTags: []string{saved + first + "=all"},
			OnText: "device refused in its present state: instance " + id + " has no tag " + saved + "<interface> that says which security groups to give back to " + first + "; give them back by hand",
		}},
		"isolated in part, a process died": {[]eni{{ID: first, Groups: []string{alone}}, {ID: other, Groups: []string{nodes}}}, tagged(world), after{
			Power: device.On, InPart: "instance " + id + " is isolated in part: of its 2 network interfaces 1 have " + alone + " alone, and 0 have it beside others",
			Off: []string{"save", other + " " + alone}, OffTags: []string{saved + first + "=" + world, saved + other + "=" + nodes, by + alone},
			On: []string{first + " " + world, "forget"},
		}},
		"the group beside others": {[]eni{{ID: first, Groups: []string{alone, nodes}}}, nil, after{
			Power: device.On, InPart: "instance " + id + " is isolated in part: of its 1 network interfaces 0 have " + alone + " alone, and 1 have it beside others",
			Off: []string{"save", first + " " + alone}, OffTags: []string{saved + first + "=" + nodes, by + alone},
		}},
		"an old tag": {[]eni{{ID: first, Groups: []string{nodes, world}}}, tagged(world), after{
			Power: device.On, Off: []string{"save", first + " " + alone}, OffTags: []string{saved + first + "=" + nodes + " " + world, by + alone}, On: []string{"forget"},
		}},
		"a tag that was not taken away": {[]eni{{ID: first, Groups: []string{nodes}}}, tagged(nodes), after{
			Power: device.On, Off: []string{"save", first + " " + alone}, OffTags: []string{saved + first + "=" + nodes, by + alone}, On: []string{"forget"},
		}},
		"isolated by another group of ours (S22)": {[]eni{{ID: first, Groups: []string{quiet}}, {ID: other, Groups: []string{alone}}}, byQuiet, after{
			Power: device.On, InPart: "instance " + id + " is isolated in part: of its 2 network interfaces 1 have " + alone + " alone, and 0 have it beside others",
			Off: []string{"save", first + " " + alone}, OffTags: []string{saved + first + "=" + nodes + " " + world, saved + other + "=" + nodes, by + alone + " " + quiet},
			On: []string{first + " " + nodes + "," + world, other + " " + nodes, "forget"},
		}},
		"an old tag, or isolated by another group of ours before that was kept (S22)": {[]eni{{ID: first, Groups: []string{quiet}}}, tagged(world), after{
			Power: device.On, OffTags: []string{saved + first + "=" + world}, OnTags: []string{saved + first + "=" + world},
			OffError: "device refused in its present state: network interface " + first + " has " + quiet + ", and tag " + saved + first + " of instance " + id + " says that " + world + " are to be given back to it; if " + quiet + " isolates it, give those back by hand, and then take that tag away",
		}},
		"none (S2)": {nil, nil, after{
			State:    "device does not know this machine: the API tells of no network interface of instance " + id + ", which is running",
			OffError: "device does not know this machine: the API tells of no network interface of instance " + id + ", which is running",
			OnText:   "device does not know this machine: the API tells of no network interface of instance " + id + ", which is running",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(do func(device.Driver) error) (sent, tags []string, text string) {
				s := wired(t, tc.interfaces...)
				i := s.InstanceOf(id)
				i.Tags = maps.Clone(tc.tags)
				s.Put(i)
				text = devicetest.Words(do(dialNetwork(t, s.url)))
				for _, a := range s.Actions() {
					switch a.Name {
					case "CreateTags":
						sent = append(sent, "save")
					case "DeleteTags":
						sent = append(sent, "forget")
					case "ModifyNetworkInterfaceAttribute":
						sent = append(sent, a.Interface+" "+strings.Join(a.Groups, ","))
					}
				}
				left := s.InstanceOf(id).Tags
				for _, k := range slices.Sorted(maps.Keys(left)) {
					tags = append(tags, k+"="+left[k])
				}
				return sent, tags, text
			}
			var got after
			var r device.Reading
			_, _, got.State = in(func(d device.Driver) (err error) { r, err = d.State(t.Context()); return err })
			got.Power, got.InPart = r.Power, r.MissingSupply
			got.Off, got.OffTags, got.OffError = in(func(d device.Driver) error { return d.Off(t.Context()) })
			got.On, got.OnTags, got.OnText = in(func(d device.Driver) error { return d.On(t.Context()) })
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNetworkDiesInBetween: whatever request is the last one that a process got
// through, another one gives back what was there.
func TestNetworkDiesInBetween(t *testing.T) {
	before := []ec2test.Interface{{ID: first, Groups: []string{nodes, world}}, {ID: other, Groups: []string{nodes}}}
	refusal := ec2test.Refusal{Status: 500, Code: "InternalError", Message: "it died"}
	for _, last := range []string{"CreateTags", "ModifyNetworkInterfaceAttribute"} {
		t.Run(last, func(t *testing.T) {
			s := wired(t, before...)
			d := dialNetwork(t, s.url)
			s.Refuse(last, refusal)
			if err := d.Off(t.Context()); !errors.Is(err, device.ErrUnreachable) {
				t.Fatal(err)
			}
			s.Refuse(last, ec2test.Refusal{})
			for _, call := range []func() error{
				func() error { return d.Off(t.Context()) },
				func() error { s.Refuse("DeleteTags", refusal); return nil },
				func() error { _ = d.On(t.Context()); s.Refuse("DeleteTags", ec2test.Refusal{}); return nil },
				func() error { return d.On(t.Context()) },
			} {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			}
			i := s.InstanceOf(id)
			if d := cmp.Diff(before, i.Interfaces); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]string{"Name": "worker-7"}, i.Tags); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNetworkParams(t *testing.T) {
	k := ec2.NetworkKind()
	if k.Scope != device.ScopeNetwork || k.Identity != "instance" || k.Cloud == nil {
		t.Errorf("%+v", k)
	}
	for name, tc := range map[string]struct{ group, want, err string }{
		"a group": {" SG-0AAAAAAAAAAAAAAAA ", "ec2-network:" + region + "/" + id, ""},
		"none":    {"", "", "group is missing; give the ID of the security group that lets nothing in or out"},
		"a name":  {"isolated", "", `group "isolated" is not the ID of a security group: sg- and 8 or 17 hexadecimal digits`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := k.Address(map[string]string{"instance": id, "region": region, "group": tc.group})
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNetworkOfAnotherGroup: the group of the configuration changes between two Offs, and
// what is given back is what the interfaces had before the first (S22).
func TestNetworkOfAnotherGroup(t *testing.T) {
	before := []ec2test.Interface{{ID: first, Groups: []string{nodes, world}}, {ID: other, Groups: []string{nodes}}}
	s := wired(t, before...)
	under := func(group string) device.Driver {
		d, err := ec2.NetworkKind().Open(map[string]string{
			"instance": id, "region": region, "endpoint": s.url, "access_key": key, "secret_key": secret, "group": group,
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, call := range []func(context.Context) error{under(quiet).Off, under(alone).Off, under(quiet).Off, under(alone).Off, under(alone).On} {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	i := s.InstanceOf(id)
	if d := cmp.Diff(before, i.Interfaces); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"Name": "worker-7"}, i.Tags); d != "" {
		t.Error(d)
	}
}

//go:build linux

package agent

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// scripted is a driver with an agent of its own, of the given name.
func scripted(t *testing.T, name string, params map[string]string, lines ...string) *driver {
	t.Helper()
	m, _ := oursKind(t)
	m.agent, m.path = name, program(t, lines...)
	all := map[string]string{"ip": "pdu.example", "plug": "7", "username": "fence", "password": password}
	maps.Copy(all, params)
	d, err := m.open(all)
	if err != nil {
		t.Fatal(err)
	}
	return d.(*driver)
}

// answers is an agent that says something else to a list.
func answers(status, list string) []string {
	return []string{"if grep -q ^action=list; then true", list, "else true", status, "fi"}
}

func TestState(t *testing.T) {
	const head = "fence_ours, status of pdu.example#7: "
	const lists = "fence_ours, list of pdu.example#7: it says off, and "
	const off = "echo Status: OFF; exit 2"
	for name, tc := range map[string]struct {
		agent, status, list string
		want                device.Power
		kind                error
		err                 string
	}{
		"on":                          {status: "echo Status: ON", want: device.On},
		"on, without a word":          {status: "exit 0", want: device.On},
		"off":                         {status: off, list: "echo 6,six; echo 7,seven", want: device.Off},
		"off, of an agent that knows": {agent: "fence_apc", status: off, list: "exit 1", want: device.Off},
		"off, of no such outlet (S2)": {status: off, list: "echo 6,six; echo 70,x", kind: device.ErrUnknown, err: lists + "its list does not show plug 7"},
		"off, by another name":        {status: off, list: "echo 3,7", kind: device.ErrUnknown, err: lists + "the list has this as the name of 3; write plug=3"},
		"off, and there is no list":   {status: off, list: "echo NOTICE: List option is not working on this device yet", kind: device.ErrUnknown, err: lists + "its list does not show plug 7"},
		"off, and the list fails":     {status: off, list: "echo Connection lost >&2; exit 1", kind: device.ErrUnreachable, err: "fence_ours, list of pdu.example#7: Connection lost"},
		"off, by an interpreter":      {status: "echo cannot open x >&2; exit 2", kind: device.ErrConflict, err: head + "cannot open x"},
		"off, without a word":         {status: "exit 2", kind: device.ErrConflict, err: head + "it says nothing, and exits with 2"},
		"off, as if it was on":        {status: "echo Status: OFF", kind: device.ErrConflict, err: head + "it says off, and exits as for on"},
		"another code":                {status: "echo Status: OFF; exit 3", kind: device.ErrConflict, err: head + "Status: OFF"},
		"a signal":                    {status: "echo Status: OFF; kill -9 $$", kind: device.ErrConflict, err: head + "Status: OFF"},
		"no agent any more":           {status: "gone", kind: device.ErrUnsupported, err: head + "start it: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.agent == "" {
				tc.agent = "fence_ours"
			}
			d := scripted(t, tc.agent, nil, answers(tc.status, tc.list)...)
			if tc.status == "gone" {
				if err := os.Remove(d.path); err != nil {
					t.Fatal(err)
				}
			}
			got, err := d.State(t.Context())
			if got != (device.Reading{Power: tc.want}) || !errors.Is(err, tc.kind) {
				t.Errorf("%+v, %v", got, err)
			}
			want := ""
			if tc.kind != nil {
				want = tc.kind.Error() + ": " + tc.err
			}
			if d := cmp.Diff(want, devicetest.Words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestControl: the exit code of an off means nothing.
func TestControl(t *testing.T) {
	for name, tc := range map[string]struct {
		does string
		left time.Duration
		kind error
	}{
		"done":                              {"exit 0", time.Minute, nil},
		"it gave up waiting for the effect": {"echo Failed: Timed out waiting to power OFF >&2; exit 1", time.Minute, nil},
		"it gave up before":                 {"echo Connection timed out >&2; exit 1", time.Minute, device.ErrUnreachable},
		"it hangs":                          {"sleep 60", time.Second, device.ErrUnreachable},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), tc.left)
		if err := scripted(t, "fence_ours", nil, tc.does).Off(ctx); !errors.Is(err, tc.kind) {
			t.Errorf("%s: %v, want %v", name, err, tc.kind)
		}
		cancel()
	}
}

// TestInput: exactly what an agent gets.
func TestInput(t *testing.T) {
	for name, tc := range map[string]struct {
		params map[string]string
		more   string
	}{
		"as it is":                    {nil, "password=" + password + "\nplug=7\nusername=fence\n"},
		"a switch that is on":         {map[string]string{"ssl": "yes"}, "password=" + password + "\nplug=7\nssl=yes\nusername=fence\n"},
		"a switch that is off anyway": {map[string]string{"ssl": "no"}, "password=" + password + "\nplug=7\nusername=fence\n"},
		"a switch that is on usually": {map[string]string{"lanplus": "no"}, "lanplus=no\npassword=" + password + "\nplug=7\nusername=fence\n"},
	} {
		d := scripted(t, "fence_ours", tc.params, "exit")
		want := "ip=pdu.example\n" + tc.more + "delay=0\nretry_on=0\npower_timeout=5\naction=off\n"
		ctx, cancel := context.WithTimeout(t.Context(), 21*time.Second) // the agent's own time is a part of it
		if d := cmp.Diff(want, string(d.input(ctx, "off"))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		cancel()
	}
}

// TestLimit is a part of the caller's time.
func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		usual string
		left  time.Duration
		want  int
	}{
		"of a usual call":               {"20", 21 * time.Second, 5},
		"of the longest call":           {"20", 121 * time.Second, 30},
		"of a short one":                {"20", time.Second, 2},
		"of one without limit":          {"20", 0, 15},
		"an agent that needs more":      {"60", 21 * time.Second, 60},
		"that one in the longest call":  {"25", 121 * time.Second, 30},
		"an agent that needs even less": {"5", 0, 15},
	} {
		d := &driver{metadata: &metadata{params: []param{{name: "power_timeout", usual: tc.usual}}}}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.left > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), tc.left)
		}
		if got := d.limit(ctx); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
		cancel()
	}
}

func TestKinds(t *testing.T) {
	const stamp = "2025-11-21 08:00:00,123 ERROR: "
	for said, want := range map[string]error{
		stamp + "Failed: The user does not have the correct privileges to do the requested action.": device.ErrDenied,
		"snmpget: Unknown user name":                                                    device.ErrDenied,
		"403 Client Error: Forbidden":                                                   device.ErrDenied,
		stamp + "Unable to connect/login to fencing device":                             device.ErrUnreachable,
		stamp + "Connection timed out":                                                  device.ErrUnreachable,
		"[Errno 113] No route to host":                                                  device.ErrUnreachable,
		stamp + "Failed: Unable to obtain correct plug status or plug is not available": device.ErrUnknown,
		"Can't find port with name x!":                                                  device.ErrUnknown,
		stamp + "Ipmitool not found or not accessible":                                  device.ErrUnsupported,
		"ModuleNotFoundError: No module named 'suds'":                                   device.ErrUnsupported,
		"outlet 4033 is locked":                                                         device.ErrConflict,
		"":                                                                              device.ErrConflict,
	} {
		d := scripted(t, "fence_ours", nil, "exit")
		if err := d.explain("status", outcome{Code: 1, Stderr: text{Data: []byte(said)}}); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", said, err, want)
		}
	}
}

func TestWords(t *testing.T) {
	for name, tc := range map[string]struct {
		o    outcome
		want string
	}{
		"its library's and its language's own": {
			outcome{Stderr: text{Data: []byte("/usr/sbin/x:5: DeprecationWarning: 'pipes' is deprecated\n  from pipes import quote\n" +
				"Traceback (most recent call last):\n  File \"x\"\nKeyError: 'plug'\n2025-11-21 08:00:00,123 ERROR: Connection lost\n\nPlease use '-h' for usage\n")}},
			"KeyError: 'plug'; Connection lost"},
		"standard output, if that is all": {outcome{Stdout: text{Data: []byte("N/A\n")}, Stderr: text{Data: []byte("\n")}}, "N/A"},
		"half a line may be half a secret": {
			outcome{Stderr: text{Data: []byte("one\nhunt"), Cut: true}}, "one"},
		"a line that is cut is all": {outcome{Stderr: text{Data: []byte("hunt"), Cut: true}}, ""},
	} {
		if got := words(tc.o); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestScrub: secrets as programs write them.
func TestScrub(t *testing.T) {
	d := scripted(t, "fence_ours", map[string]string{"password": `it's "a\b&c  d`}, "exit")
	for _, said := range []string{
		`it's "a\b&c  d`, `it's "a\b&c d`, `it'"'"'s "a\b&c  d`, `it\'s "a\b&c  d`, `it's \"a\\b&c  d`, `it's "a\\b&c  d`,
		`it&#39;s &#34;a\b&amp;c  d`, `it%27s+%22a%5Cb%26c++d`, "aXQncyAiYVxiJmMgIGQ=", "ZmVuY2U6aXQncyAiYVxiJmMgIGQ=",
	} {
		err := d.errorf(device.ErrConflict, "off", "before "+said+" after")
		if want := "device refused in its present state: fence_ours, off of pdu.example#7: before (redacted) after"; err.Error() != want {
			t.Errorf("%s:\n%s", said, err)
		}
	}
}

// TestMetadataIsAskedForOnce, until the agent's file changes.
func TestMetadataIsAskedForOnce(t *testing.T) {
	m := newMachine(t, devicetest.None)
	again := func() {
		t.Helper()
		if _, err := Kind("fence_ours", m.Dir); err != nil {
			t.Fatal(err)
		}
	}
	again()
	if got := m.Read("asked"); got != "x\n" {
		t.Errorf("asked %q", got)
	}
	m.Write("fence_ours", script+"# another\n")
	again()
	if got := m.Read("asked"); got != "x\nx\n" {
		t.Errorf("asked %q after a change", got)
	}
}

package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
	"github.com/nodefence/nodefence/test/rig/port"
)

// choice is a way in which the driver finds its machine and is let in.
type choice struct {
	devicetest.Harness
	params map[string]string
}

var choices = map[string]choice{
	"by URI":               {devicetest.Harness{Against: "redfish/uri"}, nil},
	"by URI in a session":  {devicetest.Harness{Against: "redfish/session"}, map[string]string{"auth": "session"}},
	"by UUID in a session": {devicetest.Harness{Against: "redfish/uuid"}, map[string]string{"auth": "session", "systems_uri": "", "uuid": uuid}},
}

func TestConformance(t *testing.T) {
	for name, c := range choices {
		t.Run(name, func(t *testing.T) { devicetest.Run(t, harness(c)) })
	}
}

func BenchmarkOffRead(b *testing.B) {
	for _, c := range choices {
		devicetest.OffRead(b, c.Against, harness(c))
	}
}

func harness(c choice) devicetest.Harness {
	return devicetest.Harness{
		Against: c.Against, Secrets: []string{password, changed}, Identity: uuid,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := prepare(t)
			if fault == devicetest.ConflictWhenOff {
				s.Already = redfishtest.Refusal{Status: 400, MessageID: "iLO.2.8.InvalidOperationForSystemState", Message: "It is so already."}
			}
			s.host, s.port = s.Serve(t, s.ca.Issue(t, nil, "127.0.0.1"))
			if fault == devicetest.Unreachable {
				_, s.port, _ = net.SplitHostPort(port.Nobody(t))
			}
			s.setFault(fault)
			return devicetest.Machine{
				Driver:   s.dial(t, c.params),
				On:       func() bool { return s.PowerOf("1") != redfishtest.Off },
				Commands: s.told, SetFault: s.setFault, Settle: s.Settle,
			}
		},
	}
}

const (
	get  = "GET /Systems/1"
	post = "POST /Systems/1/Actions/ComputerSystem.Reset"
)

// TestStates: what each power state reads as, and what off and on send in it.
func TestStates(t *testing.T) {
	const mute, away = "device does not support this: ", "device unreachable: "
	for name, tc := range map[string]struct {
		power, state string
		want         device.Power
		off, on      []string
		err          string
	}{
		"on":                                   {power: "On", want: device.On, off: []string{get, post}, on: []string{get}},
		"off gets no command (S9)":             {power: "Off", want: device.Off, off: []string{get}, on: []string{get, post}},
		"off, and called disabled":             {power: "Off", state: "Disabled", want: device.Off, off: []string{get}, on: []string{get, post}},
		"powering off is neither (S2, S12)":    {power: "PoweringOff", off: []string{get, post}, on: []string{get, post}, err: "machine is on its way off: %s: system " + uri + " is PoweringOff"},
		"powering on runs already":             {power: "PoweringOn", want: device.On, off: []string{get, post}, on: []string{get}},
		"paused goes on where it was":          {power: "Paused", want: device.On, off: []string{get, post}, on: []string{get, post}},
		"none is not off":                      {power: "", off: []string{get, post}, on: []string{get, post}, err: mute + "%s: the BMC does not tell the power state of system " + uri},
		"one that nobody knows is not off":     {power: "Standby", off: []string{get, post}, on: []string{get, post}, err: mute + "%s: system " + uri + " is in power state Standby, which this build does not know"},
		"off of a blade that is gone (S2)":     {power: "Off", state: "Absent", off: []string{get, post}, on: []string{get, post}, err: away + "%s: the BMC calls system " + uri + " Absent; its power can't be known"},
		"off without a connection to it (S2)":  {power: "Off", state: "UnavailableOffline", off: []string{get, post}, on: []string{get, post}, err: away + "%s: the BMC calls system " + uri + " UnavailableOffline; its power can't be known"},
		"off in small letters is nobody's Off": {power: "off", off: []string{get, post}, on: []string{get, post}, err: mute + "%s: system " + uri + " is in power state off, which this build does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Show = nil
			put := func() {
				s.Put(redfishtest.System{ID: "1", UUID: uuid, Power: tc.power, State: tc.state})
			}
			put()
			d := s.dial(t, nil)
			r, err := d.State(t.Context())
			want, text := device.Reading{Power: tc.want, Identity: uuid}, ""
			if tc.err != "" {
				want, text = device.Reading{}, fmt.Sprintf(tc.err, s.host+":"+s.port)
			}
			if diff := cmp.Diff([]any{want, text, []string{get}}, []any{r, devicetest.Words(err), s.heard()}); diff != "" {
				t.Error(diff)
			}
			if err := d.Off(t.Context()); err != nil {
				t.Error("off:", err)
			}
			off := s.heard()
			put()
			if err := d.On(t.Context()); err != nil {
				t.Error("on:", err)
			}
			if diff := cmp.Diff([][]string{tc.off, tc.on}, [][]string{off, s.heard()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCommands: a reset that shows no off is never asked for (S4).
func TestCommands(t *testing.T) {
	s := serve(t)
	s.Tasks = true
	d := s.dial(t, nil)
	for _, do := range []func(context.Context) error{d.Off, d.Off, d.On, d.On} {
		if err := do(t.Context()); err != nil {
			t.Error(err)
		}
	}
	var got []string
	for _, r := range s.Resets() {
		got = append(got, r.ID+" "+r.Type)
	}
	if diff := cmp.Diff([]string{"1 ForceOff", "1 On"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsNotOffered is not asked for.
func TestWhatIsNotOffered(t *testing.T) {
	for name, tc := range map[string]struct {
		change redfishtest.System
		text   string
	}{
		"no ForceOff":            {redfishtest.System{Resets: []string{"On", "GracefulShutdown", "ForceRestart"}}, "system " + uri + " does not take ForceOff, only On, GracefulShutdown, ForceRestart"},
		"a reset of another BMC": {redfishtest.System{Target: "https://192.0.2.1/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}, "send ForceOff to " + uri + ": the link leads to another host or port, 192.0.2.1"},
		"another port":           {redfishtest.System{Target: "//127.0.0.1:1/redfish"}, "send ForceOff to " + uri + ": the link leads to another host or port, 127.0.0.1:1"},
		"no URI":                 {redfishtest.System{Target: "%zz"}, "send ForceOff to " + uri + ": the link is not a URI"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Show = func(sys redfishtest.System) redfishtest.System {
				sys.Resets, sys.Target = tc.change.Resets, tc.change.Target
				return sys
			}
			err := s.dial(t, nil).Off(t.Context())
			want := "device does not support this: " + s.host + ":" + s.port + ": " + tc.text
			if d := cmp.Diff([]any{want, []string{get}}, []any{devicetest.Words(err), s.heard()}); d != "" || !errors.Is(err, device.ErrUnsupported) {
				t.Error(d)
			}
		})
	}
}

// TestRefusedWhenSo: a refusal because the system is as wanted counts only if the state
// confirms it (S2, S9).
func TestRefusedWhenSo(t *testing.T) {
	already := redfishtest.Refusal{Status: 409, MessageID: "IDRAC.2.8.PSU501", Message: "Server is already powered OFF."}
	for name, tc := range map[string]struct {
		status int
		// then is the power that is read after the refusal.
		then string
		kind error
	}{
		"409, and it is off":                    {409, redfishtest.Off, nil},
		"400, and it is off":                    {400, redfishtest.Off, nil},
		"409, and it is on (S2)":                {409, redfishtest.On, device.ErrConflict},
		"400, and it is on its way":             {400, redfishtest.PoweringOff, device.ErrConflict},
		"409, and nobody can tell (S2)":         {409, "", device.ErrConflict},
		"403 is about who asks":                 {403, redfishtest.Off, device.ErrDenied},
		"500 is for the caller's next look":     {500, redfishtest.Off, device.ErrUnreachable},
		"405 says nothing of the machine's off": {405, redfishtest.Off, device.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			no := already
			no.Status = tc.status
			s.Refuse("POST", resetURI, no)
			reads := 0
			s.Show = func(sys redfishtest.System) redfishtest.System {
				if reads++; reads > 1 { // one request at a time
					sys.Power = tc.then
				}
				return sys
			}
			if err := s.dial(t, nil).Off(t.Context()); !errors.Is(err, tc.kind) {
				t.Errorf("%v, want %v", err, tc.kind)
			}
		})
	}
}

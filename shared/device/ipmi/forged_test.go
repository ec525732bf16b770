package ipmi_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ipmi/ipmitest"
	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// behind puts a relay before a BMC where the fault is one of a relay: the port to dial,
// and what changes the fault.
func behind(t testing.TB, at int, fault string) (number int, play func(string)) {
	t.Helper()
	if !slices.Contains([]string{devicetest.Forged, devicetest.Downgrade, devicetest.Nameless, devicetest.Short}, fault) {
		return at, func(string) {}
	}
	r := ipmitest.Serve(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(at)), user, password)
	r.Play(fault)
	return r.Port(), r.Play
}

// TestForgedAlone: if forgeries arrive and the BMC's own answers don't, at any stage of the
// conversation, nothing is known, and the error says why and for which BMC.
func TestForgedAlone(t *testing.T) {
	for name, at := range bmcs(t) {
		for _, stage := range []wire.Type{wire.OpenResponse, wire.RAKP2, wire.RAKP4, wire.Sealed} {
			t.Run(name+", in place of payload type "+strconv.Itoa(int(stage)), func(t *testing.T) {
				t.Parallel() // it waits
				r := ipmitest.Serve(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(at)), user, password)
				r.PlayAlone(ipmitest.Alone(stage))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err := dial(t, r.Port(), password, nil).State(ctx)
				want := device.ErrInvalid
				if stage == wire.RAKP2 {
					want = device.ErrDenied // nobody can tell it from a wrong password
				}
				if got != (device.Reading{}) || !errors.Is(err, want) {
					t.Fatalf("%+v, %v, want %v", got, err, want)
				}
				address := ":" + strconv.Itoa(r.Port()) + ": "
				said := strings.Contains(err.Error(), "answer not authenticated") || strings.Contains(err.Error(), "malformed answer")
				if !strings.Contains(err.Error(), address) || !said && want == device.ErrInvalid {
					t.Errorf("it says %q", err)
				}
			})
		}
	}
}

// TestAnAccountWithoutRights is told all that it lacks at once, before anything is sent.
func TestAnAccountWithoutRights(t *testing.T) {
	s := serve(t, devicetest.None)
	err := s.controller.Users.Update(2, func(u *bmc.User) error {
		u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelUser, Enabled: true}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d := dial(t, s.port(), password, nil)
	_, state := d.State(t.Context())
	for name, err := range map[string]error{"state": state, "off": d.Off(t.Context()), "on": d.On(t.Context())} {
		if !errors.Is(err, device.ErrDenied) || !strings.Contains(devicetest.Words(err), "the user's privilege level is too low: nodefence opens sessions as operator (parameter privilege); "+
			"reading the power and the System GUID needs user, switching the power (Chassis Control) operator; give the user operator on the BMC's LAN channel, with IPMI over LAN enabled") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.told(); len(got) > 0 || !s.on() {
		t.Errorf("the BMC was told %q", got)
	}
}

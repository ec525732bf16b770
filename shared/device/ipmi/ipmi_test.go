package ipmi_test

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ipmi"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "ipmi", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against:  "ipmi",
		Secrets:  []string{password, changed},
		Identity: guid,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t, fault)
			number := s.port()
			if fault == devicetest.Unreachable {
				number = port.UDP(t)
			}
			number, play := behind(t, number, fault)
			return devicetest.Machine{
				Driver:   dial(t, number, password, nil),
				On:       s.on,
				Commands: s.told,
				SetFault: func(fault string) { s.setFault(t, fault); play(fault) },
				Settle:   s.settle,
			}
		},
	}
}

// TestCipherSuites are the two that the parameter takes.
func TestCipherSuites(t *testing.T) {
	for _, suite := range []string{"3", "17"} {
		s := serve(t, devicetest.None)
		d := dial(t, s.port(), password, map[string]string{"cipher": suite})
		if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
			t.Errorf("cipher suite %s: %+v, %v", suite, r, err)
		}
	}
}

// TestIPv6 is about a colon between host and port.
func TestIPv6(t *testing.T) {
	udp, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on the loopback: ", err)
	}
	s := serveOn(t, udp, devicetest.None)
	d := dial(t, s.port(), password, map[string]string{"ip": "::1"})
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRefusals are in words that say what to mend.
func TestRefusals(t *testing.T) {
	for code, want := range map[types.CompletionCode]error{
		types.CodeInsufficientPrivilege: device.ErrDenied,
		types.CodeInvalidCommand:        device.ErrUnsupported,
		types.CodeSubFnDisabled:         device.ErrUnsupported,
		types.CodeNotSupported:          device.ErrConflict,
		types.CodeNodeBusy:              device.ErrConflict,
	} {
		s := serve(t, devicetest.None)
		s.refusal = code
		d := dial(t, s.port(), password, nil)
		if err := d.Off(t.Context()); !errors.Is(err, want) {
			t.Errorf("off refused with %#02x: %v, want %v", uint8(code), err, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, tc := range []struct{ ip, port, want, err string }{
		{ip: "10.0.0.7", want: "10.0.0.7:623"},
		{ip: "10.0.0.7", port: "623", want: "10.0.0.7:623"},
		{ip: " 10.0.0.7 ", port: "0623", want: "10.0.0.7:623"},
		{ip: "10.0.0.7", port: "6230", want: "10.0.0.7:6230"},
		{ip: "BMC-7.Example.", port: "623", want: "bmc-7.example:623"},
		{ip: "bmc-7.example", want: "bmc-7.example:623"},
		{ip: "FD00:0:0::7", want: "[fd00::7]:623"},
		{ip: "::ffff:10.0.0.7", want: "10.0.0.7:623"},
		{ip: "[fd00::7]", want: "[fd00::7]:623"},
		{ip: "fe80::7%eth0", want: "[fe80::7%eth0]:623"},
		{ip: "FE80::7%Eth0", want: "[fe80::7%Eth0]:623"},
		{ip: "bmc_7.0xlab", want: "bmc_7.0xlab:623"},
		{ip: "7-bmc", want: "7-bmc:623"},
		{ip: "10.0.0.7:623", err: `ip "10.0.0.7:623" is neither an address nor a host's name`},
		{ip: "010.0.0.7", err: `ip "010.0.0.7" is neither an address nor a host's name`},
		{ip: "10.7", err: `ip "10.7" is neither an address nor a host's name`},
		{ip: "0x0a000007", err: `ip "0x0a000007" is neither an address nor a host's name`},
		{ip: "10.0.0.08", err: `ip "10.0.0.08" is neither an address nor a host's name`},
		{ip: "10.0.0.0x7", err: `ip "10.0.0.0x7" is neither an address nor a host's name`},
		{ip: "bmc.0x", err: `ip "bmc.0x" is neither an address nor a host's name`},
		{ip: "99999999999999999999", err: `ip "99999999999999999999" is neither an address nor a host's name`},
		{ip: "::ffff:010.0.0.7", err: `ip "::ffff:010.0.0.7" is neither an address nor a host's name`},
		{ip: "10.0.0.7/24", err: `ip "10.0.0.7/24" is neither an address nor a host's name`},
		{ip: "10.0.0.7,10.0.0.8", err: `ip "10.0.0.7,10.0.0.8" is neither an address nor a host's name`},
		{ip: "[fd00::7", err: `ip "[fd00::7" is neither an address nor a host's name`},
		{ip: "[]", err: `ip "[]" is neither an address nor a host's name`},
		{ip: "bmc..example", err: `ip "bmc..example" is neither an address nor a host's name`},
		{ip: "-bmc", err: `ip "-bmc" is neither an address nor a host's name`},
		{ip: "bmc\x00", err: `ip "bmc\x00" is neither an address nor a host's name`},
		{ip: "*", err: `ip "*" is neither an address nor a host's name`},
		{ip: "ipmi://bmc-7", err: `ip "ipmi://bmc-7" is neither an address nor a host's name`},
		{ip: "0.0.0.0", err: `ip "0.0.0.0" is not one machine's`},
		{ip: "::", err: `ip "::" is not one machine's`},
		{ip: "::ffff:0.0.0.0", err: `ip "::ffff:0.0.0.0" is not one machine's`},
		{ip: "255.255.255.255", err: `ip "255.255.255.255" is not one machine's`},
		{ip: "::ffff:255.255.255.255", err: `ip "::ffff:255.255.255.255" is not one machine's`},
		{ip: "239.1.1.1", err: `ip "239.1.1.1" is not one machine's`},
		{ip: "ff02::1", err: `ip "ff02::1" is not one machine's`},
		{ip: "", err: "ip is missing"},
		{ip: "  ", err: "ip is missing"},
		{ip: "10.0.0.7", port: "0", err: `ipport "0" is not a port`},
		{ip: "10.0.0.7", port: "65536", err: `ipport "65536" is not a port`},
		{ip: "10.0.0.7", port: "x\n", err: `ipport "x\n" is not a port`},
	} {
		got, err := ipmi.Kind().Address(map[string]string{"ip": tc.ip, "ipport": tc.port})
		if got != tc.want || devicetest.Words(err) != tc.err {
			t.Errorf("address of %q and %q: %q, %v, want %q, %s", tc.ip, tc.port, got, err, tc.want, tc.err)
		}
	}
}

// TestAddressChecks is about the time: a fault must be reported when the configuration is
// read, which asks only for the address.
func TestAddressChecks(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"cipher", "0"}:                   notASuite("0"),
		{"cipher", "1"}:                   notASuite("1"),
		{"cipher", "2"}:                   notASuite("2"),
		{"cipher", "8"}:                   notASuite("8"),
		{"privilege", "callback"}:         `privilege "callback" is not operator or administrator`,
		{"privilege", "ADMINISTRATOR"}:    "",
		{"username", "sixteen-bytes-16"}:  "",
		{"username", "seventeen-bytes-1"}: "username is longer than the 16 bytes that IPMI has for it",
	} {
		_, err := ipmi.Kind().Address(map[string]string{"ip": "10.0.0.7", change[0]: change[1]})
		if devicetest.Words(err) != want {
			t.Errorf("address with %q: %v, want %q", change, err, want)
		}
	}
}

func notASuite(cipher string) string {
	return `cipher "` + cipher + `" is not 3 or 17: set cipher to 3, or to 17 where the BMC has it; no other cipher suite both authenticates and encrypts what the BMC says`
}

func TestOpen(t *testing.T) {
	for change, want := range map[[2]string]string{
		{}:                                    "",
		{"ip", " "}:                           "ip is missing",
		{"ipport", "ipmi"}:                    `ipport "ipmi" is not a port`,
		{"username", ""}:                      "username is missing",
		{"password", ""}:                      "password is missing",
		{"cipher", "17"}:                      "",
		{"cipher", "0"}:                       notASuite("0"),
		{"password", "twenty-one-bytes-long"}: "password is longer than the 20 bytes that IPMI has for it",
		{"privilege", "administrator"}:        "",
		{"privilege", "operator"}:             "",
		{"privilege", "callback"}:             `privilege "callback" is not operator or administrator`,
	} {
		p := map[string]string{"ip": "10.0.0.7", "username": user, "password": password}
		p[change[0]] = change[1]
		if d, err := ipmi.Kind().Open(p); devicetest.Words(err) != want || (d == nil) != (want != "") {
			t.Errorf("open with %q: %v, %v, want %q", change, d, err, want)
		}
	}
}

func dial(t testing.TB, port int, password string, more map[string]string) device.Driver {
	t.Helper()
	p := map[string]string{"ip": "127.0.0.1", "ipport": strconv.Itoa(port), "username": user, "password": password}
	for k, v := range more {
		p[k] = v
	}
	d, err := ipmi.Kind().Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestNothingIsSentLate: the time for the call ran out in the middle of the conversation,
// while this machine was suspended (S8).
func TestNothingIsSentLate(t *testing.T) {
	s := serve(t, devicetest.None)
	ctx := device.Timely(t.Context(), func() time.Duration { return 0 })
	if err := dial(t, s.port(), password, nil).Off(ctx); !errors.Is(err, device.ErrLate) {
		t.Error(err)
	}
	if told := s.told(); len(told) > 0 {
		t.Errorf("it was told %q", told)
	}
}

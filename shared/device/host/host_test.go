package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/host"
)

// answer is what came of one reading.
type answer struct{ Text, Err string }

func TestName(t *testing.T) {
	const nobody, neither = " is not one machine's", " is neither an address nor a host's name"
	for name, tc := range map[string]struct {
		in   string
		want answer
	}{
		"an address":                             {"10.0.0.7", answer{Text: "10.0.0.7"}},
		"IPv6 in another spelling":               {"FD00:0:0::7", answer{Text: "fd00::7"}},
		"IPv6 in brackets":                       {"[fd00::7]", answer{Text: "fd00::7"}},
		"a zone keeps its capitals":              {"FE80::7%Eth0", answer{Text: "fe80::7%Eth0"}},
		"IPv4 in IPv6":                           {"::ffff:10.0.0.7", answer{Text: "10.0.0.7"}},
		"a name in capitals, from the root":      {" VC.Example. ", answer{Text: "vc.example"}},
		"nothing":                                {" ", answer{Err: "server is missing"}},
		"everybody on this machine":              {"0.0.0.0", answer{Err: `server "0.0.0.0"` + nobody}},
		"everybody on the network":               {"255.255.255.255", answer{Err: `server "255.255.255.255"` + nobody}},
		"a group":                                {"ff02::1", answer{Err: `server "ff02::1"` + nobody}},
		"an address with two readings":           {"010.0.0.7", answer{Err: `server "010.0.0.7"` + neither}},
		"what a resolver would take for numbers": {"vc.0x", answer{Err: `server "vc.0x"` + neither}},
		"a URL":                                  {"https://vc.example/sdk", answer{Err: `server "https://vc.example/sdk"` + neither}},
		"a credential in it":                     {"user@vc.example", answer{Err: `server "user@vc.example"` + neither}},
		"a port":                                 {"vc.example:443", answer{Err: `server "vc.example:443"` + neither}},
		"a line break":                           {"vc\nexample", answer{Err: `server "vc\nexample"` + neither}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := host.Name("server", tc.in)
			if d := cmp.Diff(tc.want, answer{text, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPort(t *testing.T) {
	for in, want := range map[string]struct {
		port int
		err  string
	}{
		"":      {443, ""},
		"8443":  {8443, ""},
		"08443": {8443, ""},
		"0":     {0, `ipport "0" is not a port`},
		"65536": {0, `ipport "65536" is not a port`},
		"https": {0, `ipport "https" is not a port`},
	} {
		if got, err := host.Port("ipport", in, 443); got != want.port || devicetest.Words(err) != want.err {
			t.Errorf("port %q: %d, %v", in, got, err)
		}
	}
}

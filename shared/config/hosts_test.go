package config

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
)

// TestHostsOfASecret: an entry means what it says and nothing near it (S29).
func TestHostsOfASecret(t *testing.T) {
	for name, tc := range map[string]struct {
		list, host string
		want       bool
	}{
		"nothing":                              {"", "192.0.2.7", false},
		"the address":                          {"192.0.2.7", "192.0.2.7", true},
		"another address that begins alike":    {"192.0.2.7", "192.0.2.77", false},
		"one of several, with commas":          {"192.0.2.6,192.0.2.7", "192.0.2.7", true},
		"one of several, with blanks":          {" 192.0.2.6 \n192.0.2.7 ", "192.0.2.7", true},
		"its network":                          {"192.0.2.0/24", "192.0.2.7", true},
		"another network":                      {"192.0.3.0/24", "192.0.2.7", false},
		"the address in another spelling":      {"2001:DB8:0::7", "2001:db8::7", true},
		"IPv6's network":                       {"2001:db8::/32", "2001:db8::7", true},
		"all of IPv4 is not all of IPv6":       {"0.0.0.0/0", "2001:db8::7", false},
		"a pattern does not stand for numbers": {"192.0.2.*x", "192.0.2.7", false},
		"the name":                             {"BMC-7.example.com.", "bmc-7.example.com", true},
		"a name that ends alike":               {"example.com", "evil-example.com", false},
		"a pattern":                            {"bmc-*.example.com", "bmc-7.example.com", true},
		"a pattern stops at a dot":             {"*.example.com", "a.b.example.com", false},
		"a pattern needs all of the name":      {"bmc-*", "bmc-7.evil.example", false},
		"a star alone is one label":            {"*", "evil.example", false},
		"a network is no name's":               {"0.0.0.0/0", "bmc-7.example.com", false},
		"an agent by its name":                 {"fence_aliyun", "fence_aliyun", true},
	} {
		err := Secret{Namespace: "ns", Name: "s", Hosts: tc.list}.SendableTo([]string{"password"}, []string{tc.host})
		if (err == nil) != tc.want || err != nil && !errors.Is(err, device.ErrNotForHost) {
			t.Errorf("%s: %q and %s: %v", name, tc.list, tc.host, err)
		}
	}
	for _, bad := range []string{"https://192.0.2.7", "192.0.2.7:623", "192.0.2.0/33", "a/b", "[::1]",
		"bmc?", "?", "bmc-[0-9]", "bmc-[0-9", "bmc-0-9]", `bmc\*`, `\`, "*?", "[*]", `*\`, "fe80::7%?", `fe80::7%\`, "fe80::7%*", "fe80::7%[a]"} {
		if err := (Secret{Hosts: bad + ",192.0.2.7"}).SendableTo(nil, []string{"192.0.2.7"}); err == nil || errors.Is(err, device.ErrNotForHost) || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q was taken: %v", bad, err)
		}
	}
}

package redfish_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish"
)

func TestAddress(t *testing.T) {
	const path = ` is not the path of a system, such as /redfish/v1/Systems/1`
	for _, tc := range []struct{ ip, port, uri, uuid, want, err string }{
		{ip: "10.0.0.7", uri: uri, want: "redfish:10.0.0.7:443/redfish/v1/systems/1"},
		{ip: " BMC-7.Example. ", port: "8443", uri: "/redfish/v1/Systems/System.Embedded.1/", want: "redfish:bmc-7.example:8443/redfish/v1/systems/system.embedded.1"},
		{ip: "FD00:0::7", port: "443", uri: uri, want: "redfish:[fd00::7]:443/redfish/v1/systems/1"},
		{ip: "[fd00::7]", uri: uri, want: "redfish:[fd00::7]:443/redfish/v1/systems/1"},
		{ip: "10.0.0.7", uuid: "00112233445566778899AABBCCDDEEFF", want: "redfish:10.0.0.7:443/" + uuid},
		{ip: "10.0.0.7", uri: uri, uuid: uuid, want: "redfish:10.0.0.7:443/redfish/v1/systems/1"},
		{ip: "10.0.0.7", err: "systems_uri and uuid are both missing: say which system of the BMC is meant, by one of them"},
		{ip: "", uri: uri, err: "ip is missing"},
		{ip: "https://bmc-7", uri: uri, err: `ip "https://bmc-7" is neither an address nor a host's name`},
		{ip: "0.0.0.0", uri: uri, err: `ip "0.0.0.0" is not one machine's`},
		{ip: "10.0.0.7", port: "0", uri: uri, err: `ipport "0" is not a port`},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems", err: `systems_uri "/redfish/v1/Systems" is the list of all systems; name one of them, such as /redfish/v1/Systems/1`},
		{ip: "10.0.0.7", uri: "/redfish/v1/", err: `systems_uri "/redfish/v1/"` + path},
		{ip: "10.0.0.7", uri: "Systems/1", err: `systems_uri "Systems/1"` + path},
		{ip: "10.0.0.7", uri: "https://10.0.0.8/redfish/v1/Systems/1", err: `systems_uri "https://10.0.0.8/redfish/v1/Systems/1"` + path},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems/1/../2", err: `systems_uri "/redfish/v1/Systems/1/../2"` + path},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems//2", err: `systems_uri "/redfish/v1/Systems//2"` + path},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems/%31", err: `systems_uri "/redfish/v1/Systems/%31"` + path},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems/1?x", err: `systems_uri "/redfish/v1/Systems/1?x"` + path},
		{ip: "10.0.0.7", uri: "/redfish/v1/Systems/1\r\nX: y", err: `systems_uri "/redfish/v1/Systems/1\r\nX: y"` + path},
		{ip: "10.0.0.7", uuid: "10.0.0.8", err: `uuid "10.0.0.8" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff`},
		{ip: "10.0.0.7", uuid: "ffffffff-ffff-ffff-ffff-ffffffffffff", err: `uuid "ffffffff-ffff-ffff-ffff-ffffffffffff" is what firmware writes where none was set`},
	} {
		got, err := redfish.Kind().Address(map[string]string{"ip": tc.ip, "ipport": tc.port, "systems_uri": tc.uri, "uuid": tc.uuid})
		if got != tc.want || devicetest.Words(err) != tc.err {
			t.Errorf("address of %+v: %q, %v", tc, got, err)
		}
	}
}

// TestChecks are made when the configuration is read, which asks for the address
// only, and again when the driver is opened.
func TestChecks(t *testing.T) {
	for change, want := range map[[2]string]string{
		{}:                             "",
		{"auth", "basic"}:              "",
		{"auth", "session"}:            "",
		{"auth", "digest"}:             `auth "digest" is not basic or session`,
		{"username", "lab:fence"}:      "username has a colon, which auth=basic can't say; write auth=session",
		{"redfish_uri", "/redfish/v1"}: "",
		{"redfish_uri", "/redfish/v2"}: `redfish_uri "/redfish/v2" is not /redfish/v1`,
		{"ssl", "1"}:                   "",
		{"ssl", "0"}:                   "ssl is off: without TLS anybody can say that a machine is off; leave it out",
		{"ssl_insecure", "maybe"}:      `ssl_insecure "maybe" is not 1 or 0`,
		{"ca", "/etc/ssl/ca.pem"}:      "ca is not PEM: -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----, as often as there are certificates, and nothing else",
	} {
		p := map[string]string{"ip": "10.0.0.7", "systems_uri": uri, "username": user, "password": password}
		p[change[0]] = change[1]
		if d, err := redfish.Kind().Open(p); devicetest.Words(err) != want || (d == nil) != (want != "") {
			t.Errorf("open with %q: %v, want %q", change, err, want)
		}
		delete(p, "password")
		if _, err := redfish.Kind().Address(p); devicetest.Words(err) != want {
			t.Errorf("address with %q: %v, want %q", change, err, want)
		}
	}
	for missing, want := range map[string]string{"username": "username is missing", "password": "password is missing"} {
		p := map[string]string{"ip": "10.0.0.7", "systems_uri": uri, "username": user, "password": password}
		delete(p, missing)
		if _, err := redfish.Kind().Open(p); devicetest.Words(err) != want {
			t.Errorf("open without %s: %v", missing, err)
		}
	}
}

package vsphere_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/vsphere"
)

func TestAddress(t *testing.T) {
	const server = "vcenter.example"
	for name, tc := range map[string]struct {
		params    map[string]string
		want, err string
	}{
		"a UUID":                      {params: map[string]string{"server": server, "uuid": uuid}, want: "vsphere:" + uuid},
		"in capitals, without dashes": {params: map[string]string{"server": server, "uuid": "00112233445566778899AABBCCDDEEFF"}, want: "vsphere:" + uuid},
		"by another vCenter, which is the same machine (S11)": {params: map[string]string{"server": "10.0.0.9", "uuid": uuid}, want: "vsphere:" + uuid},
		"by its name":        {params: map[string]string{"server": server, "uuid": "worker-7"}, err: `uuid "worker-7" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff; give the BIOS UUID of the machine, its name is not taken`},
		"by nothing":         {params: map[string]string{"server": server}, err: `uuid "" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff; give the BIOS UUID of the machine, its name is not taken`},
		"no server":          {params: map[string]string{"uuid": uuid}, err: "server is missing"},
		"a server's URL":     {params: map[string]string{"server": "https://vcenter.example", "uuid": uuid}, err: `server "https://vcenter.example" is neither an address nor a host's name`},
		"a port that's none": {params: map[string]string{"server": server, "uuid": uuid, "ipport": "https"}, err: `ipport "https" is not a port`},
		"without TLS":        {params: map[string]string{"server": server, "uuid": uuid, "ssl": "0"}, err: "ssl is off: without TLS anybody can say that a machine is off; leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := vsphere.Kind().Address(tc.params)
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct{ user, password, err string }{
		"both":        {user, password, ""},
		"no user":     {"", password, "username is missing"},
		"no password": {user, "", "password is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := vsphere.Kind().Open(map[string]string{"server": "vcenter.example", "uuid": uuid, "username": tc.user, "password": tc.password})
			if devicetest.Words(err) != tc.err {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

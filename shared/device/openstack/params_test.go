package openstack_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/openstack"
)

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		more      map[string]string
		want, err string
	}{
		"all":                                {want: "openstack:" + uuid},
		"in capitals":                        {more: map[string]string{"uuid": "00112233-4455-6677-8899-AABBCCDDEEFF"}, want: "openstack:" + uuid},
		"by its name":                        {more: map[string]string{"uuid": "worker-7"}, err: `uuid "worker-7" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff; give the server's, its name is not taken`},
		"no Keystone":                        {more: map[string]string{"auth_url": ""}, err: "auth_url is missing"},
		"without TLS":                        {more: map[string]string{"auth_url": "http://keystone.example"}, err: "auth_url is not an https URL; without TLS anybody can say that a machine is off"},
		"no project":                         {more: map[string]string{"project_name": ""}, err: "project_name is missing; a token without a project has no servers"},
		"a secret in a URL, not shown (S29)": {more: map[string]string{"auth_url": "https://u:hunter2@x"}, err: "auth_url has more than a scheme, a host, a port and a path"},
		"TLS switched off":                   {more: map[string]string{"ssl": "0"}, err: "ssl is off: without TLS anybody can say that a machine is off; leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"uuid": uuid, "auth_url": "https://keystone.example:5000", "project_name": "cluster"}
			for k, v := range tc.more {
				p[k] = v
			}
			got, err := openstack.Kind().Address(p)
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCloud(t *testing.T) {
	for providerID, want := range map[string]map[string]string{
		"openstack:///" + uuid:           {"uuid": uuid},
		"openstack://one/" + uuid:        {"uuid": uuid, "region": "one"},
		"openstack:///worker-7":          nil,
		"openstack://" + uuid:            nil,
		"openstack:///" + uuid + "/x":    nil,
		"aws:///eu-west-1a/i-0123456789": nil,
		"":                               nil,
	} {
		got, ok := openstack.Kind().Cloud(providerID)
		if d := cmp.Diff(fmt.Sprint(want, want != nil), fmt.Sprint(got, ok)); d != "" {
			t.Error(providerID, d)
		}
	}
}

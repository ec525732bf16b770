package gce_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/gce"
)

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		more      map[string]string
		want, err string
	}{
		"all":                                {want: "gce:my-project/europe-west1-b/worker-7"},
		"a domain's":                         {more: map[string]string{"project": "example.com:my-project"}, want: "gce:example.com:my-project/europe-west1-b/worker-7"},
		"no instance":                        {more: map[string]string{"instance": ""}, err: "instance is missing; give the instance's, or let the node be enrolled with its provider ID"},
		"no zone":                            {more: map[string]string{"zone": ""}, err: "zone is missing; give the instance's, or let the node be enrolled with its provider ID"},
		"a path":                             {more: map[string]string{"instance": "a/b"}, err: `instance "a/b" is not the name of an instance`},
		"a region":                           {more: map[string]string{"zone": "europe-west1"}, err: `zone "europe-west1" is not the name of a zone, such as europe-west1-b`},
		"a project's path":                   {more: map[string]string{"project": "../x"}, err: `project "../x" is not the name of a project's ID`},
		"an ID that's none":                  {more: map[string]string{"id": "worker-7"}, err: `id "worker-7" is not the name of an instance's numeric ID`},
		"without TLS":                        {more: map[string]string{"endpoint": "http://compute.example"}, err: "endpoint is not an https URL; without TLS anybody can say that a machine is off"},
		"a path in the API's":                {more: map[string]string{"endpoint": "https://compute.example/x"}, err: "endpoint has a path; give scheme and host"},
		"a secret in a URL, not shown (S29)": {more: map[string]string{"token_uri": "https://u:hunter2@x"}, err: "token_uri has more than a scheme, a host, a port and a path"},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7"}
			for k, v := range tc.more {
				p[k] = v
			}
			got, err := gce.Kind(gce.Metadata).Address(p)
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOwnAccount: without a key nodefence's own token is sent to Google and to no host
// that a ConfigMap names (S29).
func TestOwnAccount(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                                   "",
		"https://compute-x.p.googleapis.com": "",
		"https://evil.example":               "endpoint is not Google's; without a key it would be sent the token of nodefence's own account",
		"https://googleapis.com.evil":        "endpoint is not Google's; without a key it would be sent the token of nodefence's own account",
	} {
		_, err := gce.Kind(gce.Metadata).Open(map[string]string{"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7", "endpoint": endpoint})
		if devicetest.Words(err) != want {
			t.Errorf("%s: %v, want %s", endpoint, err, want)
		}
	}
}

func TestKeys(t *testing.T) {
	for key, want := range map[string]string{
		"hunter2": "key is not a service account's key in JSON; write it as one line, such as by jq -c",
		`{"type":"authorized_user","client_email":"a"}`:                                                                                "key is not a service account's: its type is another, or client_email is missing",
		`{"type":"service_account","client_email":"a","private_key":"hunter2"}`:                                                        "key: private_key is not PEM",
		`{"type":"service_account","client_email":"a","private_key":"-----BEGIN PRIVATE KEY-----\naGk=\n-----END PRIVATE KEY-----\n"}`: "key: private_key is no RSA key",
	} {
		_, err := gce.Kind(gce.Metadata).Open(map[string]string{"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7", "key": key})
		if devicetest.Words(err) != want || strings.Contains(devicetest.Words(err), "hunter2") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestCloud(t *testing.T) {
	for providerID, want := range map[string]map[string]string{
		"gce://my-project/europe-west1-b/worker-7":   {"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7"},
		"gce://my-project/europe-west1/worker-7":     nil,
		"gce://my-project/europe-west1-b/worker-7/x": nil,
		"gce://my-project/europe-west1-b/":           nil,
		"aws:///eu-west-1a/i-0123456789abcdef0":      nil,
		"":                                           nil,
	} {
		got, ok := gce.Kind(gce.Metadata).Cloud(providerID)
		if d := cmp.Diff(fmt.Sprint(want, want != nil), fmt.Sprint(got, ok)); d != "" {
			t.Error(providerID, d)
		}
	}
}

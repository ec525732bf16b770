package binding

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestKeysOfASecret are parameters by any of their names: what the ConfigMaps do
// not say, and never which machine.
func TestKeysOfASecret(t *testing.T) {
	var opened map[string]string
	kind := device.Kind{
		Params: []device.Param{
			{Name: "ip", Machine: true}, {Name: "username", Required: true}, {Name: "cipher", Default: "3"},
			{Name: "password", Secret: true, Required: true}, {Name: "community", Secret: true},
		},
		Hosts: func(p map[string]string) ([]string, error) { return []string{p["ip"]}, nil },
		Open:  func(p map[string]string) (device.Driver, error) { opened = p; return nil, nil },
	}
	bound := func(params map[string]string) *api.Binding {
		return &api.Binding{Driver: "bmc", Params: params, SecretRefs: []api.SecretRef{{Parameter: "community", Kind: api.KindSecret, Name: "s", Key: "community"}, {Parameter: "password", Kind: api.KindSecret, Name: "s", Key: "password"}}}
	}
	at := map[string]string{"ip": "a", "cipher": "3"}
	for name, tc := range map[string]struct {
		params map[string]string
		secret map[string]string
		want   map[string]string
		err    string
	}{
		"a password": {map[string]string{"ip": "a", "username": "u"}, map[string]string{"password": "x"}, map[string]string{"ip": "a", "username": "u", "password": "x"}, ""},
		"older names, what is no secret, and what is nobody's": {at, map[string]string{"passwd": "x", "login": "u", "cipher": "17", "note": "mine"},
			map[string]string{"ip": "a", "cipher": "17", "username": "u", "password": "x"}, ""},
		"two names of one":              {at, map[string]string{"passwd": "x", "password": "y"}, nil, "Secret s, key password: secret devices/s has passwd and password, which are one parameter; delete all but one"},
		"which machine (S11)":           {at, map[string]string{"password": "x", "ipaddr": "b"}, nil, "Secret s, key ipaddr: it says which machine is meant, which a Secret never does; give it in the node's own ConfigMap and delete it here"},
		"in both":                       {map[string]string{"ip": "a", "username": "u"}, map[string]string{"password": "x", "username": "u"}, nil, "Secret s, key username: it is given in a ConfigMap as well; delete one of them"},
		"a line break, not shown":       {at, map[string]string{"password": "x", "login": "u\n"}, nil, "Secret s, key login: the value has control characters, or a line break at its end; write it with printf %s, or as stringData"},
		"what is required is not there": {at, map[string]string{"community": "x"}, nil, "Secret s, key password: secret devices/s has no such key; add password there"},
		"a key that is misspelt":        {at, map[string]string{"pasword": "x"}, nil, "Secret s, key password: secret devices/s has no such key; rename its key pasword to password"},
		"what may be the secret itself is not shown (S29)": {at, map[string]string{"hunter-2": "x"}, nil, "Secret s, key password: secret devices/s has no such key; add password there"},
		"the user, misspelt": {at, map[string]string{"password": "x", "usrname": "u"}, nil, "the Secret devices/s has no key username, which no ConfigMap gives either; rename its key usrname to username"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			c := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reads++
				s := corev1.Secret{Data: map[string][]byte{}}
				s.Annotations = map[string]string{"nodefence.io/hosts": "a"}
				for k, v := range tc.secret {
					s.Data[k] = []byte(v)
				}
				kubetest.Answer(w, s)
			}))
			b := Resolver{SecretsNamespace: "devices", Client: c, Drivers: map[string]device.Kind{"bmc": kind}}
			opened = nil
			_, err := b.Open(t.Context(), bound(tc.params))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff(tc.err, text); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.want, opened); d != "" {
				t.Error(d)
			}
			if reads != 1 {
				t.Errorf("the Secret was read %d times", reads)
			}
		})
	}
}

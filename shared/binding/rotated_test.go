package binding

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestTheVersionOfCredentials changes with each object that a device's account is read from, and
// with no other; it has nothing of their values (S29: no secret is shown).
func TestTheVersionOfCredentials(t *testing.T) {
	const secret, members, config = "/api/v1/namespaces/devices/secrets/s", "/api/v1/namespaces/devices/secrets/m", "/api/v1/namespaces/ns/configmaps/c"
	bound := &api.Binding{
		Driver: "bmc", SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "s", Key: "password"}},
		Members: []api.SetMember{{Driver: "pdu", SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "m", Key: "password"}}}},
		Sources: []api.ConfigSource{{Kind: api.KindConfigMap, Namespace: "ns", Name: "c", ResourceVersion: "1"}},
	}
	version := func(change map[string]string) string {
		objects := map[string]string{
			secret: `{"metadata":{"uid":"a","resourceVersion":"7"},"data":{"password":"aHVudGVyLTI="}}`, members: `{"metadata":{"uid":"b","resourceVersion":"8"}}`,
			config: `{"metadata":{"uid":"c","resourceVersion":"1"}}`, "/api/v1/namespaces/devices/secrets/other": `{}`,
		}
		for path, is := range change {
			objects[path] = is
		}
		r := Resolver{Client: kubetest.Client(t, kubetest.Table(objects, nil)), Namespace: "ns", SecretsNamespace: "devices"}
		v, err := r.CredentialsVersion(t.Context(), bound)
		if err != nil || len(v) != 32 {
			t.Fatalf("%q %v", v, err)
		}
		return v
	}
	was := version(nil)
	for name, c := range map[string]struct {
		change map[string]string
		same   bool
	}{
		"nothing":                    {nil, true},
		"the value alone":            {map[string]string{secret: `{"metadata":{"uid":"a","resourceVersion":"7"},"data":{"password":"eA=="}}`}, true},
		"another Secret":             {map[string]string{"/api/v1/namespaces/devices/secrets/other": `{"metadata":{"resourceVersion":"9"}}`}, true},
		"the Secret":                 {map[string]string{secret: `{"metadata":{"uid":"a","resourceVersion":"9"}}`}, false},
		"another Secret of its name": {map[string]string{secret: `{"metadata":{"uid":"x","resourceVersion":"7"}}`}, false},
		"a member's Secret":          {map[string]string{members: `{"metadata":{"uid":"b","resourceVersion":"9"}}`}, false},
		"the ConfigMap":              {map[string]string{config: `{"metadata":{"uid":"c","resourceVersion":"2"}}`}, false},
	} {
		if is := version(c.change); (is == was) != c.same {
			t.Errorf("%s was written: %s after %s", name, is, was)
		}
	}
	if v, err := (Resolver{}).CredentialsVersion(t.Context(), &api.Binding{Adopted: &api.AdoptedDevice{}}); v != "" || err != nil {
		t.Errorf("of another project's object: %q %v", v, err)
	}
}

package config

import (
	"fmt"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestTooLong: a ConfigMap's devices fit into a record, or are refused in words. The words
// contain no value, because it may be a password at the wrong key (S29).
func TestTooLong(t *testing.T) {
	many := func(n, each int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("p", i)] = strings.Repeat("x", each)
		}
		return m
	}
	refs := func(n int, r api.SecretRef) (all []api.SecretRef) {
		for range n {
			all = append(all, r)
		}
		return all
	}
	names := func(n, each int) (all []string) {
		for range n {
			all = append(all, strings.Repeat("x", each))
		}
		return all
	}
	const covers = "power-1 covers "
	for want, b := range map[string]api.Binding{
		"": {Params: many(mostNamed, 100), SecretRefs: refs(mostNamed, api.SecretRef{Name: "s", Key: "k"}), Covers: &api.Coverage{CSIDriverNames: names(mostCovered, longestName)}},
		"power-1 has an address or identity of 4097 letters; at most 4096 are allowed":                                          {Identity: strings.Repeat("x", longest+1)},
		"power-1 has 65 parameters or secrets; at most 64 of each are allowed":                                                  {Params: many(mostNamed+1, 1)},
		"power-1 has a parameter p0 of 4097 letters; at most 4096 are allowed":                                                  {Members: []api.SetMember{{Params: many(1, longest+1)}}},
		"power-1 has a secret password whose object has a name of 254 letters and a key of 1; at most 253 and 1024 are allowed": {SecretRefs: refs(1, api.SecretRef{Parameter: "password", Name: strings.Repeat("s", longestName+1), Key: "k"})},
		covers + "33 storage classes or CSI drivers; at most 32 are allowed":                                                    {Covers: &api.Coverage{StorageClassNames: names(mostCovered+1, 1)}},
		covers + "a storage class or CSI driver with a name of 254 letters; at most 253 are allowed":                            {Covers: &api.Coverage{CSIDriverNames: names(1, longestName+1)}},
		"the devices of this node take 82175 bytes; at most 65536 are allowed":                                                  {Params: many(20, longest)},
	} {
		b.Name = "power-1"
		if got := tooLong([]api.Binding{b}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

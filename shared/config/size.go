package config

import (
	"encoding/json"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The bounds of a record's devices; all but mostBytes are the API's. A record that is too
// big can't be saved, which must not first be found out during a fence. So the user is told
// when the configuration is read.
const (
	longest     = 4096 // of addresses, identities and values
	longestName = 253
	longestKey  = 1024
	mostNamed   = 64 // parameters, and secrets
	mostCovered = 32
	mostBytes   = 64 << 10 // of all devices of a node
)

// tooLong says which part of a node's devices is too long for a record; empty if all fit.
func tooLong(devices []api.Binding) string {
	for _, b := range devices {
		members := []api.SetMember{{Driver: b.Driver, Address: b.Address, Identity: b.Identity, Params: b.Params, SecretRefs: b.SecretRefs}}
		for _, m := range append(members, b.Members...) {
			if words := memberTooLong(m); words != "" {
				return b.Name + " has " + words
			}
		}
		if c := b.Covers; c != nil {
			for _, names := range [][]string{c.StorageClassNames, c.CSIDriverNames} {
				if len(names) > mostCovered {
					return fmt.Sprintf("%s covers %d storage classes or CSI drivers; at most %d are allowed", b.Name, len(names), mostCovered)
				}
				for _, n := range names {
					if len(n) > longestName {
						return fmt.Sprintf("%s covers a storage class or CSI driver with a name of %d letters; at most %d are allowed", b.Name, len(n), longestName)
					}
				}
			}
		}
	}
	if text, err := json.Marshal(devices); err != nil || len(text) > mostBytes {
		return fmt.Sprintf("the devices of this node take %d bytes; at most %d are allowed", len(text), mostBytes)
	}
	return ""
}

func memberTooLong(m api.SetMember) string {
	if n := max(len(m.Address), len(m.Identity)); n > longest {
		return fmt.Sprintf("an address or identity of %d letters; at most %d are allowed", n, longest)
	}
	if n := max(len(m.Params), len(m.SecretRefs)); n > mostNamed {
		return fmt.Sprintf("%d parameters or secrets; at most %d of each are allowed", n, mostNamed)
	}
	for name, value := range m.Params {
		if len(name) > longestName || len(value) > longest {
			return fmt.Sprintf("a parameter %.40s of %d letters; at most %d are allowed", name, len(value), longest)
		}
	}
	for _, r := range m.SecretRefs {
		if max(len(r.Parameter), len(r.Name)) > longestName || len(r.Key) > longestKey {
			return fmt.Sprintf("a secret %.40s whose object has a name of %d letters and a key of %d; at most %d and %d are allowed", r.Parameter, len(r.Name), len(r.Key), longestName, longestKey)
		}
	}
	return ""
}

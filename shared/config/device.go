package config

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// bound is a device, with the value of each parameter for comparison. The values may be
// secrets and do not leave this package (S29: no secret is shown).
type bound struct {
	method string
	api.Binding
	values map[string]string
	// origins say where each parameter is set.
	origins map[string]string
	// off and on say what the method does.
	off, on bool
	// bySystem: the device tells the machine's system UUID, or tells no identity. named: the method
	// gives the identity.
	bySystem, named bool
}

// refer notes where a secret parameter is kept. References are in the order of their
// parameters, so that the same configuration always gives the same binding.
func (b *bound) refer(parameter, kind, name, key string) api.SecretRef {
	ref := api.SecretRef{Parameter: parameter, Kind: kind, Name: name, Key: key}
	at, _ := slices.BinarySearchFunc(b.SecretRefs, ref, func(x, y api.SecretRef) int { return strings.Compare(x.Parameter, y.Parameter) })
	b.SecretRefs = slices.Insert(b.SecretRefs, at, ref)
	return ref
}

package config

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// Bound is what the ConfigMaps come to for one node.
type Bound struct {
	// Devices are named, in order.
	Devices []api.Binding
	// Over lays what ConfigMaps say of the whole cluster over the policy.
	Over func(*api.ResolvedPolicy)
}

// Refused is a configuration that names no one machine for certain (S11). Any
// other error is a failure to read it, and is tried again.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap gives the configuration's own error.
func (r *Refused) Unwrap() error { return r.Err }

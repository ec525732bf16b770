package config

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// Bound is the result of the ConfigMaps for one node.
type Bound struct {
	// Devices are named, in order.
	Devices []api.Binding
	// Over applies the cluster's ConfigMaps to the policy.
	Over func(*api.ResolvedPolicy)
}

// Refused is a configuration that does not name exactly one machine (S11: the device is the
// node's own). Any other error is a failure to read the configuration, and is tried again.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the configuration's own error.
func (r *Refused) Unwrap() error { return r.Err }

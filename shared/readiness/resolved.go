package readiness

import (
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Asked is what a check has read of a node before its devices are resolved.
type Asked struct {
	Node   *corev1.Node
	Target *api.FenceTarget
	Ledger *api.FenceLedger
}

// Resolved are a node's devices: those of its levels, in order, and then those of its
// isolation.
type Resolved struct {
	Devices []api.Binding
	// Binding is what a fence may take instead of resolving them; nil if it may not.
	Binding *api.TargetBinding
}

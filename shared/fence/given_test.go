package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// given is what a fence is decided by and the automaton does not write: what the gate
// decided, and what people ask.
type given struct {
	NodeName    string
	FenceNumber int64
	Decision    api.Decision
	Requests    api.Requests
}

// spec is people's part of it.
func (g given) spec() api.NodeFenceSpec {
	return api.NodeFenceSpec{NodeName: g.NodeName, Requests: g.Requests}
}

// in is a status with the gate's part of it.
func (g given) in(st api.NodeFenceStatus) api.NodeFenceStatus {
	st.FenceNumber, st.Decision = max(st.FenceNumber, g.FenceNumber), g.Decision
	return st
}

// to writes it into a record.
func (g given) to(f *api.NodeFence) { f.Spec, f.Status = g.spec(), g.in(f.Status) }

// givenBy is what a record has of it.
func givenBy(f *api.NodeFence) given {
	return given{f.Spec.NodeName, f.Status.FenceNumber, f.Status.Decision, f.Spec.Requests}
}

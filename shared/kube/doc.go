// Package kube is nodefence's client of the API server: reads, compare-and-swap writes,
// marks on nodes, and the API server's clock. There is one file for each kind of object.
//
// What a reader must not get wrong: there is a small cache. A request to read carries no
// resourceVersion, so the API server answers it from a quorum. But in a context that comes
// from Begin, Node, Lease, Policy, CachedPolicies, Ledger and the marks on nodes may be
// given what this process has read or written less than a second before, in another
// invocation too. Forget(ctx) ends that for what was read before it. Whoever decides after
// time has passed, or after something outside has changed, calls Forget first
// (invocation.go). All else is read each time it is asked for.
package kube

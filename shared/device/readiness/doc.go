// Package readiness reads the devices of healthy nodes, and says in their FenceTargets
// whether the nodes could be fenced today.
//
// What a reader must not get wrong: a device is read in a turn that stands in the
// ledger, under a claim on the FenceTarget, and never beside a fence (S7). Nobody
// decides by what comes of it.
package readiness

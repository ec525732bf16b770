// Package readiness reads the devices of healthy nodes, and writes in their FenceTargets
// whether the nodes could be fenced today.
//
// What a reader must not get wrong: a device is read only in a turn that is in the ledger,
// under a claim on the FenceTarget, and never during a fence (S7: one device call at a
// time). No decision uses what was read. A fence takes the binding that a check has resolved
// only if nothing has changed of which it was made (package binding, holds).
package readiness

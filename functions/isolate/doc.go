// Package isolate keeps new work away from a node that is about to be fenced: our NoSchedule
// taint and, where the node was schedulable, a cordon. If so configured, it also cuts the machine
// off from storage and network, and later gives access back (ISOLATION.md).
//
// What a reader must not get wrong: the machine runs on. The marks prove nothing. A cut from
// storage proves only that those pods may start elsewhere all of whose writable volumes it
// covers.
package isolate

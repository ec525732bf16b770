// Package isolate keeps new work away from a node that is about to be fenced: our
// NoSchedule taint and, where the node was schedulable, a cordon. Where it is
// configured, it cuts the machine off from storage and network too, and gives that
// back (ISOLATION.md).
//
// What a reader must not get wrong: the machine runs on. The marks prove nothing, and
// a cut from storage proves only of the pods all of whose writable volumes it covers
// that they may start elsewhere.
package isolate

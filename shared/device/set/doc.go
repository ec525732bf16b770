// Package set is the device of a machine with several supplies: a machine is off
// when each of its outlets is.
//
// What a reader must not get wrong: one member that is not seen off keeps the
// whole set from being off, whatever the others say (S2). And a set that is on may
// lack a supply: what an On has not switched on is told beside it.
package set

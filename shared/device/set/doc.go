// Package set is the device of a machine with several power supplies: the machine is off
// when each of its outlets is off.
//
// What a reader must not get wrong: one member that is not seen off keeps the whole set
// from being off, whatever the others say (S2: what is unknown is never taken for off). A
// set that is on may lack a supply: the reading names a member that the On has not switched
// on.
package set

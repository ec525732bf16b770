// Package binding says which devices fence a node, reads their credentials and opens their
// drivers. It has the table of the drivers of this build.
//
// What a reader must not get wrong: a node whose machine is not known for certain is
// refused, and is bound to no device (S11). Credentials are read for the one call that is
// about to be made, and kept nowhere (S29).
package binding

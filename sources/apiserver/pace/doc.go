// Package pace gives nodes their turns to have a device read.
//
// What a reader must not get wrong: a check may be sent only for a turn that the ledger holds
// (Ledger, Written, Due), because a fence reads there whether its node's device may be under a
// read at this moment (S7: one device call at a time). A turn stays in the ledger until it is
// over by any clock. The ledger may hold turns that another source gave; they stay there.
package pace

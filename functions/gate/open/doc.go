// Package open decides, for the gate, whether an event opens a fence, and prepares the record that does.
//
// What a reader must not get wrong: an event opens nothing by itself. The Node, its Lease, its Machine and the
// policies are read, and only a reason that the policy names, and that holds now, opens a fence (S18). The record is
// created first; the loop saves the status that opens it, together with what its first look sees.
package open

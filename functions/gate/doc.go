// Package gate decides whether a node may be fenced now: it opens the record,
// waits out the policy's time, and reserves a slot.
//
// What a reader must not get wrong: an event opens nothing by itself. The gate
// looks at the node, and only a condition that the policy names, and that holds
// now, opens a record (S18).
package gate

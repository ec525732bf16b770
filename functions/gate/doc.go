// Package gate decides whether a node may be fenced now: it opens the record, waits out the policy's time, and
// reserves a slot. Its work is done in four rooms, which can be read one by one: requests judges who asks for a
// fence, open opens fences, admit reserves slots on the ledger, checks makes the checks of a fence. This package
// joins them to the loop, and writes into the record what the policies and the devices are now.
//
// What a reader must not get wrong: an event opens nothing by itself. The gate
// looks at the node, and only a condition that the policy names, and that holds
// now, opens a record (S18).
package gate

// Package hold has one ordered table of the holds on a node's fence: those that follow from the policies and the
// node. The gate, a look at a fence with a slot, the status of policies, Host HA, evictions, gauges and kubectl fence
// read the table, and no list of their own.
//
// What a reader must not get wrong: the first hold answers, and a masked hold is true all the same. An action that a
// masked hold asks for too, as the removal of nodefence's marks, is decided by All.
//
// The rows of REASONS.md, the examples in WHY.md and the remedies of kubectl fence are written from the table. Tests
// named ...EachHold try every asker with each row and with each pair of rows, and fail while an asker lacks the row.
package hold

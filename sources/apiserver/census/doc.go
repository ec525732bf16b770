// Package census has what the census counts besides the nodes and the open fences, and tells who
// waits when the ledger has a change.
//
// What a reader must not get wrong: an event about a change is sent only when the ledger's census
// has the change, or after a second (package outbox), so that the gate never decides about a node
// that is not counted. A change must be noted here before its event is put into the outbox. Of two
// sources that believe to lead, the one whose census is older writes none, as long as the other one
// goes on writing (OthersIn).
package census

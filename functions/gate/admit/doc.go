// Package admit asks, for the gate, whether a fence may begin, drain its node or begin a round of checks, and
// reserves on the ledger what is allowed. Package admission decides; this package reads what it decides on.
//
// What a reader must not get wrong: the ledger is read first, everything else after it, and a yes counts only
// if the ledger is written as it was read (S14).
package admit

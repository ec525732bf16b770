// Package checks makes the checks of a fence for the gate: it connects to nodes, and has Jobs do so.
//
// What a reader must not get wrong: no check begins here without a turn. Package admit gives the turns, which
// stand in the ledger, and EndTurn gives one back.
package checks

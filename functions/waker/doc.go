// Package waker is the second waker: at every tick of a clock that is not the
// source's, it calls the owner of what is overdue, past the broker (S19).
//
// At every third tick it tells the gate of nodes that are not Ready and have no fence,
// writes down how policies, budgets and the ledger stand, for people, and begins and ends the
// cool-down of storms that no fence asks about, because all have healed or were called
// off (S15).
//
// What a reader must not get wrong: it is the one function that may have several
// events to say, so it calls by itself and never replies. It begins no fence; who gets
// a wake-up that is not needed looks, and does nothing.
package waker

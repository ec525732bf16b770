// Package kdump hears the messages that a machine sends while it writes the memory
// of its crashed kernel away, and writes down of which node they came.
//
// What a reader must not get wrong: a UDP source address can be forged by whoever
// is on a network that lets it. A message is a hint that power be cut later, and
// what is done for it is bounded.
package kdump

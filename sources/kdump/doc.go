// Package kdump receives the messages that a machine sends while it saves the memory of its
// crashed kernel, and records which node they came from.
//
// What a reader must not get wrong: a UDP source address can be forged by anybody on a
// network that allows it. A message is only a hint to cut power later, and the delay is
// bounded.
package kdump

// Package view says what nodefence's objects say, for people: one line for each node, why a node
// stands where it stands, the history of its fences, and its devices. It is pure: what was read
// comes in as Seen.
//
// What a reader must not get wrong: it decides nothing. Every reason and number is one that
// nodefence itself has written, or follows by its own rules from a node and its policies (spared.go).
// Only the advice is from here (remedies.go).
package view

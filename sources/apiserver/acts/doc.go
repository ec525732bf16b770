// Package acts writes a FenceAct for each act of a person: it compares what stands in a FenceLedger, a FencePolicy or a
// NodeFence with what its last act says.
//
// What a reader must not get wrong: the name of an act follows from the change alone, so that a second try of the same
// change finds the first one's act. Nothing is decided by acts, and nothing waits for one.
package acts

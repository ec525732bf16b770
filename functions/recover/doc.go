// Package recover waits until a node is healthy, undoes what nodefence placed
// on it, writes the FenceReport of the fence, and closes the record.
//
// What a reader must not get wrong: it removes only what the record says was
// placed, and a cordon only while it is still ours (S22).
package recover

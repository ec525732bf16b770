// Package loop is the one loop that every function runs: look, decide, save,
// act, announce.
//
// What a reader must not get wrong: nothing is done that was not saved first by
// compare-and-swap, and after a call to a device the invocation looks once more,
// saves what it saw, and ends.
package loop

// Package loop is the one loop that every function runs: look, decide, save,
// act, announce.
//
// What a reader must not get wrong: nothing is done that was not saved first by
// compare-and-swap, and after a call to a device the invocation looks once more,
// saves what it saw, and ends.
//
// A process remembers two things from one invocation to the next. Neither is needed, and each
// has a stated age: the records that it wrote last (recordcache.go), and what it has read of a
// node, its Lease, the ledger and the policies less than a second ago (kube.Recent). The loop
// says from when the latter count (Loop.Since): for who is handed a fence, as it was just
// looked at, and for nobody who is woken, as something has changed.
package loop

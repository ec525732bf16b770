// Package loop has the one loop that every function runs: look, decide, save, act, announce.
//
// What a reader must not get wrong: no action is taken before it was saved by compare-and-swap.
// After a call to a device the invocation looks once more, saves what it saw, and ends.
//
// A process remembers two things from one invocation to the next. It needs neither, and each has
// a fixed age: the records that it wrote last (recordcache.go), and what it has read of a node,
// its Lease, the ledger and the policies less than a second ago (kube.Reader). The loop says
// before which time no such read counts (notBefore). They count for a function that is handed a fence, which was
// just looked at. They do not count for one that is woken, because something has changed.
//
// Where every function of a fence runs in one process, as in nodefence-local, one more thing is
// remembered: an action that one invocation has decided on and saved, for the next one to carry
// out (handoff.go). It saves a look and a write for each call to a device. If it is lost, its claim
// is taken over like that of a call whose end nobody reported.
package loop

// Package apiserver is the one long-running part of nodefence: it watches nodes, their
// Leases and the NodeFences, and sends events about what changed and what is due.
//
// Its parts that ask no other part are packages of their own; acts, asks, due and leases put events into outbox:
//
//	slim    what is kept of each watched object
//	outbox  events until the broker has them
//	due     the open fences, and when each is to be looked at
//	asks    the FenceRequests, and which of them are to be looked at
//	acts    the acts of people, and which of them have no record yet
//	leases  the picture of the Leases, and the nodes whose Lease stands still
//	pace    whose devices are read next
//	census  what is counted, and who waits until the ledger has it
//
// Here is Source, which watches and asks one part after the other, and the parts that need what
// is kept of a Node. Files need each other in one direction: first the stores, which know no
// Source (nodestore, enrol, targetstore, problemstore, leftovers, standings, configs), then
// source.go, then what Source does about each kind of object, then draw.go and loop.go, and last
// lead.go and elect.go, which begin all of it.
//
// What a reader must not get wrong: this package decides nothing. If it sends too much,
// functions look and do nothing. If it sends too little, its own resync and the function
// resync send it later.
package apiserver

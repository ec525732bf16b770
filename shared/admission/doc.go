// Package admission decides whether one more fence may begin: it counts nodes, storms,
// slots, rates, budgets and etcd's members on one picture of the cluster, and reserves a
// slot on the ledger. It also says what stands against a fence that has its slot, and what
// policies and budgets show of themselves.
//
// What a reader must not get wrong: Admit counts, decides and reserves on the ledger that
// it is given, and the caller writes that ledger by compare-and-swap. Only both together
// are one step, in which two fences can't take the last slot (S14). NewPicture alone makes
// the picture, so that whoever asks counts one cluster in one way (S15).
//
// What is counted is read in one of two ways, and both decide alike. By lists of everything,
// read after the ledger. Or by the census (TakeCensus, ByCensus), which the source keeps in the
// ledger: then the ledger alone decides, and any change of the count makes the compare-and-swap
// fail. A census is late by as much as the source's watches are. So it never takes for free what
// it has not seen end: a slot goes only by a look at its fence that is later than the slot. And
// what counts for etcd's quorum is not in it, but is read anew, after the ledger (ReadAnew). One
// that is old, or lacks something, is none. Refused were a cache of nodes in each gate, which a
// function that runs for one event can't keep, and lists that may be stale, which say nothing of
// how stale they are.
package admission

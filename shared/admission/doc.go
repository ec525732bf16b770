// Package admission decides whether one more fence may begin: it counts nodes, storms,
// slots, rates, budgets and etcd's members on one picture of the cluster, and reserves a
// slot on the ledger. It also says what stands against a fence that has its slot, and what
// policies and budgets show of themselves.
//
// What a reader must not get wrong: Admit counts, decides and reserves on the ledger that
// it is given, and the caller writes that ledger by compare-and-swap. Only both together
// are one step, in which two fences can't take the last slot (S14). NewPicture alone makes
// the picture, so that whoever asks counts one cluster in one way (S15).
package admission

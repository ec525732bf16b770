// Package look reads what one decision is made on, and says it in the decision's own types:
// a Node, its Lease, the ledger, the policies, a Machine, pods and volumes become fence.Seen
// and admission.Picture.
//
// What a reader must not get wrong: nothing is decided here. What can't be read is an error,
// and never a look at which all is well: power would be cut by what nobody has seen. A read
// may be up to a second old, but never from before the moment that the caller names, and
// where something may be cut never from before the look (fence.Needs, kube.Recent).
package look

// Package look reads what one decision is based on, and converts it to the decision's own
// types: a Node, its Lease, the ledger, the policies, a Machine, pods and volumes become
// observed.Look and admission.Picture.
//
// What a reader must not get wrong: this package decides nothing. An object that can't be
// read is an error. It must never look as if all were well, because power would then be cut
// without a look. A read may be up to a second old, but never from before the time that the
// caller names; where something may be cut, it is never from before the look (fence.Needs,
// kube.Reader).
package look

// Package remediation takes turns with other programs that remediate nodes, by the Lease that
// medik8s' operators use for it: node-<node> in a namespace of their own (medik8s-leases). Whoever
// holds it works on the node: NodeHealthCheck, node maintenance, or nodefence. A NodeHealthCheck that asks
// for the fence by a FenceRequest holds it too, and is not waited for. If that FenceRequest has failed or is withdrawn, the
// NodeHealthCheck itself is read: it is waited for as long as another remediator is under way or left for the node.
//
// What a reader must not get wrong: the Lease keeps others away and proves nothing. It is taken
// before a slot is reserved, so that no fence has a slot and not the Lease. It is given back if there
// is no slot, renewed as long as something is done to the node or is left on it, and given back when
// the record ends. It lasts longer than a yes of the gate is valid. If nodefence dies, it runs out by
// itself.
package remediation

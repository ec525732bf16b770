// Package request works on FenceRequests: it asks the gate for the fence that an object is about,
// writes into the object what becomes of it, and stops the fence if the object is withdrawn before
// anything was cut.
//
// It is woken by the source, when the object or its node's fence changes, and by resync, at each
// round, without source and broker (S19: a lost event costs time only).
//
// The node of an object that a MachineHealthCheck made from a template is that of the Machine that owns
// it: the Machine is read, and the node is written into the object's status before the gate is asked.
//
// What a reader must not get wrong: it opens no fence and calls no device. What comes next is
// decided in shared/ask, which also says in which order object and record are read and written so
// that a withdrawn request leads to no device call (S17). A FenceRequest in a namespace that does
// not count is left alone: nothing is written to it.
package request

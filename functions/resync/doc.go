// Package resync sends again what is overdue. At every tick of a clock that is not the
// source's, it calls the owner of each fence that nobody has looked at for a while after it
// was due. It calls directly, without the broker (S19: a lost event costs time only).
//
// At every third tick it tells the gate of nodes that have no open fence and may need one:
// nodes that are not Ready, nodes that have been missing for too long, and nodes whose
// Machine has failed. At the same tick it calls the function request about each FenceRequest that
// is not done with, and each two minutes it says of those in namespaces that do not count, by an Event,
// that nothing is done about them. How long a node has been missing is in its policy's status, which
// policystatus writes at least each minute while a node is missing. Resync itself checks
// that the node is still missing. If nobody has written the status for some minutes, the
// time starts again, so that an old status alone leads to nothing.
//
// What a reader must not get wrong: resync is the one function that may have several events
// to send, so it calls by itself and never replies. It begins no fence. A function that
// gets a needless wake-up looks, and does nothing.
package resync

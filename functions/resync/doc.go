// Package resync sends again what is overdue: at every tick of a clock that is not the
// source's, it calls the owner of each fence that nobody has looked at for a while after it
// was due, past the broker (S19).
//
// At every third tick it tells the gate of nodes that have no open fence and look as if they
// needed one: nodes that are not Ready, nodes that are missing for too long, and nodes
// whose Machine has failed. How long a node has been missing stands in its policy's status,
// which policystatus writes at least each minute while any is. Whether the node is still missing
// resync sees by itself, and once nobody has written for some minutes the time begins anew, so
// that a status that nobody writes any more has nobody told.
//
// What a reader must not get wrong: it is the one function that may have several
// events to say, so it calls by itself and never replies. It begins no fence; who gets
// a wake-up that is not needed looks, and does nothing.
package resync

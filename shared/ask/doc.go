// Package ask says what comes next for a FenceRequest: which node it is about, whether the gate is
// to be asked, what became of it, and what its withdrawal leads to. It decides by the object and by
// the node's record as they were read, and touches nothing (S18: no event is believed).
//
// What a reader must not get wrong is how a withdrawal leads to no device call (S17: a fence whose
// reason is gone is called off). Gate and function write the node's record by compare-and-swap, and
// each reads before it writes:
//
//	the gate      reads the record, then the object; opens or joins by the record as it was read
//	the function  reads the object, which is withdrawn, then the record; marks the record
//
// So of the two writes one fails. If the gate's does, it reads the object again, and refuses it. If
// the function's does, it reads the record again, finds the fence, and aborts it. Where there is no
// record, the gate creates one first, and reads the object after that.
//
// A fence that goes on without the request, for others or because it was begun, is not aborted. The function
// marks its record, so that an Off is claimed either before that, or by somebody who has read the mark.
package ask

// Package requests judges, for the gate, who may have a node fenced by asking: by an event with a token, by an
// event that a rule believes, by a FenceRequest, or by reports of problems.
//
// What a reader must not get wrong: an event is a hint. A token is reviewed by the API server, and everything else
// that counts is read there (S18, S20). Nothing opens here: the answer names the decision with which the gate opens
// a fence.
package requests

// Package act builds what people may write, and says in words what it will do before it is
// written. It is pure: what it is about comes in as it was read, and what comes out is a Change.
//
// What a reader must not get wrong: each change of a fence names the fence that was shown, by the
// UID of its record and its fenceNumber. If another fence is open when the change arrives, the API
// server refuses it (infra/crd/requests.yaml).
package act

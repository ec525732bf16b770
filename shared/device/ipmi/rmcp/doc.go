// Package rmcp holds one conversation with a BMC: it logs in, sends a few IPMI requests in
// the session, and leaves. It is a client of our own because a BMC's answer decides whether
// a machine is off. Go's IPMI libraries do not verify who sent an answer, and end the
// process at a short datagram, in a goroutine that nobody can recover. A checking layer
// below such a library would need the session's keys, and so would have to log in itself;
// the library would then have nothing left to do but three requests.
//
// What a reader must not get wrong: an invalid datagram is dropped, and waiting continues.
// It never ends a conversation; otherwise anybody on the network could end one.
package rmcp

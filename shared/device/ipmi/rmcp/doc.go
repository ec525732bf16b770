// Package rmcp holds one conversation with a BMC: it logs in, sends a few IPMI requests in
// the session, and leaves. It is a client of our own because what a BMC answers decides
// whether a machine is off: the IPMI libraries that Go has do not verify who sent an
// answer, and end the process at a short datagram in a goroutine that nobody can recover.
// A checking layer below such a library would have to know the session's keys, and so log
// in itself; after that, the library would have nothing left to do but three requests.
//
// What a reader must not get wrong: a datagram that is not valid is dropped, and waiting
// goes on. It never ends a conversation, or anybody on the network could.
package rmcp

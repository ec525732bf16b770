// Package model runs the real gate, loop and client against an API server in
// memory, with every call a point at which another process may go first.
//
// What a reader must not get wrong: the code under test is the code that ships,
// down to the HTTP client; only the server, the machines and the order of calls
// are the model's. It holds tests alone:
//
//	go test ./test/model/... -v                     states, interleavings, twins caught
//	go test ./test/model/... -model.seed=N          a random schedule again
//
// TestEveryInterleaving goes through a scenario from end to end, depth first, and
// counts its interleavings. The first has two gates, three nodes that die at one
// moment and room for one fence at a time; a gate may end between any two calls
// and an event arrive twice: 1.5 million states, some minutes on two busy cores.
// TestRandomSchedules goes beyond that: ten nodes, eight invocations at once
// of all functions, crashes, doubles, losses and pauses; a schedule that fails is
// shrunk and told. TestBrokenTwins shows that each promise is really looked at:
// each twin is the real code but for one fault, and must be caught.
//
// TestRequestsOfAFence counts what one fence asks of the API server, by function
// (testdata/requests.txt): a request more is seen in review.
//
// What makes it small, and why nothing is lost by it:
//
//   - A state is gone on from once: all objects with their versions, the machines,
//     the events on their way, where each invocation stands and what may still go
//     wrong are its key. Versions count each object's own writes, which clients
//     can't tell from etcd's.
//   - An invocation's place is the row of answers that it got, since its code
//     depends on nothing else; the code runs once for each row, in a goroutine.
//   - A read goes with the call before it if its answer is the same whenever it is
//     made: of a collection that no function writes in this scenario (a write to
//     one ends the test), or of the node's own record while no other invocation
//     or event is about that node. Every other call is a point of choice.
//   - An invocation begins with its first call: until then it is an event on its way.
//   - It may die after a write only. If it dies after a read, its event comes again
//     and nothing was changed: that is an event that came later.
//   - In the scenarios with many nodes a short stand-in does the work after the
//     gate: it cuts the power, and then releases, each with one compare-and-swap
//     of the record and no other write. It runs in one go, since nobody can see the
//     middle of a single write; its events wait for any length like all others.
//   - Nodes that die alike differ in their names alone, which the code compares
//     for equality only: of the schedules that differ in which is which, the one in
//     which they begin in order stands for all.
//
// What bounds it: time passes when nothing is under way, or, in random schedules,
// by a pause. Gates' events are doubled, the stand-in's are not. Where power
// functions or a node that heals are looked at, the functions beside them run in
// one go; the random schedules take all of them call by call. Devices are honest
// and answer at once.
package model

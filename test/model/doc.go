// Package model runs the real gate, loop and client against an API server in
// memory, with every call a point at which another process may go first.
//
// What a reader must not get wrong: the code under test is the code that ships, down to the HTTP
// client. Only the server, the machines and the order of calls are the model's. The package has
// only tests:
//
//	go test ./test/model/... -v                     states, interleavings, twins caught
//	go test ./test/model/... -model.seed=N          a random schedule again
//
// TestEveryInterleaving goes through all of a scenario, depth first, and counts its
// interleavings. The first scenario has two gates, three nodes that die at one moment, and room
// for one fence at a time. A gate may end between any two calls, and an event may arrive twice:
// that is 1.5 million states, some minutes on two busy cores. TestRandomSchedules goes beyond
// that: ten nodes, eight invocations at once of all functions, crashes, doubles, losses and
// pauses; a schedule that fails is shrunk and printed. TestBrokenTwins shows that each promise is
// really checked: each twin is the real code with one fault, and must be caught.
//
// TestRandomSchedulesOfARequest has a FenceRequest ask for the fence of a healthy node, and withdraws
// it at any time: the function request runs beside the gate and all others.
//
// TestRandomSchedulesByCensus has two sources write the census, late, in turn, or not at all.
// TestRandomSchedulesOfAControlPlane has two of etcd's five members fail under such a census. Each counts
// how many slots were reserved by a census, and how many by lists, and fails if either were too few.
//
// TestRequestsOfAFence counts what one fence asks of the API server, by function
// (testdata/requests.txt), so that an additional request is seen in review.
//
// What keeps it small, and why nothing is lost by that:
//
//   - A state is continued from only once. Its key is: all objects with their
//     versions, the machines, the events on their way, the point that each invocation
//     has reached, and what may still go wrong. Versions count each object's own
//     writes, which clients can't tell from etcd's.
//   - An invocation's point is the row of answers that it got, because its code
//     depends on nothing else; the code runs once for each row, in a goroutine.
//   - A read goes with the call before it if its answer is the same whenever it is
//     made: of a collection that no function writes in this scenario (a write to
//     one ends the test), or of the node's own record while no other invocation
//     or event is about that node. Every other call is a point of choice.
//   - An invocation begins with its first call. Before that it is an event on its way.
//   - It may die only after a write. If it dies after a read, its event comes again
//     and nothing was changed: that is the same as an event that came later.
//   - In the scenarios with many nodes a short stand-in does the work after the
//     gate: it cuts the power, and then releases, each with one compare-and-swap
//     of the record and no other write. It runs in one go, because nobody can see the
//     middle of a single write; its events may wait for any time, like all others.
//   - Nodes that die alike differ in their names alone, which the code compares
//     for equality only: of the schedules that differ only in which is which, the
//     one in which they begin in order stands for all.
//
// What bounds it: time passes when nothing is under way, or, in random schedules,
// by a pause. Gates' events are doubled, the stand-in's are not. Where power
// functions or a node that heals are looked at, the functions beside them run in
// one go; the random schedules take all of them call by call. Devices are honest
// and answer at once.
package model

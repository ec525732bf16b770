// Package twins has the broken twins of Decide: Decides that lack one guard each. The walk must
// catch every one of them by the promise that it breaks.
//
// What a reader must not get wrong: a guard that has no twin is one that nobody would miss. A
// twin that is caught by other words than its own shows nothing of its guard.
//
// # What a twin is
//
// A twin calls Decide, and shows it a world in which the guard has nothing to object to, or
// takes back what the guard did (guards.go):
//
//	Before   changes the record or the look before Decide sees them, unless another's call is
//	         under way: then Decide does nothing anyway, and the twin would break S7
//	Always   does so at every step
//	after    changes the record that Decide has made
//
// So each twin is Decide as it is but for one thing, and there is no second Decide to be kept
// up. Gate's twins answer wrongly to requests that come (joins.go).
//
// # How one is caught
//
// Most show soon. So a twin is hunted first: a few looks at each state, a few hundred states,
// from each kind of fence by itself (soon in twins.go). The whole walk, which takes minutes, is
// for those that no hunt shows. A walk comes everywhere in time, a hunt by luck only: for a
// guard that lies deep in a fence near.go says where its hunt begins. TestHuntsFindNothingInDecide
// shows that no hunt finds anything in Decide itself.
//
// # How to add one
//
// Add a row to the table that is about the guard: decide.go, or the file of the kind of fence.
// Its name says what it does wrong, in few words. A name with "request" in it is hunted in
// fences that a request opened, one with "level" in those of two levels.
//
//	"overlooks who keeps a node": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Hold = false }),
//
// Add its promise to breaks (breaks.go), in the exact words of the check that it fails: that is
// by which it must be caught. Each half of a condition needs a twin, or a test. Then
//
//	go test ./shared/fence -run 'TestEveryBrokenDecideIsCaught/^overlooks_who_keeps_a_node$' -v
//
// says after how many decisions it was caught, and where. If it survives, the walk does not
// come to where the guard decides, or nothing there is checked: package walk says how to add
// either. If it is caught after minutes, give it a place in near.go. A new table is added in
// tables.go, with the kinds of fence in which its twins are hunted.
//
// `make twins` looks for each in the whole walk, without hunts: the checks must catch it there
// too.
package twins

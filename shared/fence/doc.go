// Package fence decides what comes next for one fence. Decide takes the record of the fence,
// what was just seen, and the time, and says what the record becomes and the one thing to do
// next. It has no I/O, no clock and no logger, so that all it can ever do can be walked
// through.
//
// What a reader must not get wrong: an action's result is never evidence. Only what a later
// look saw moves a fence towards release.
//
// # The record
//
// A fence is a NodeFence, one for each node, and all that is known of it stands in its
// status. The gate writes what was decided: which policy, which devices, why (status.decision).
// Everything else there is written by Decide: the phase, the claim of a call to a device, what
// was read, the proof, what was released. Nothing is kept anywhere else. Whoever dies, the next
// one reads the record and goes on.
//
// A phase belongs to one function: Pending to the gate, Isolating to isolate, Probing, Fencing
// and PoweringOn to power, Draining and Releasing to cleanup, the others to recover. A record that enters a
// phase is an event, and the event wakes the owner. Events are hints: they may be lost, come
// twice or be forged. What counts is the record, and what is seen.
//
// # The look
//
// A Seen is one look at everything outside the record: the Node, its Lease, the brakes, the
// answer of the call to a device that this very invocation has made. A part that was not looked
// at has its zero value, and no rule takes a zero value for good news: brakes that were not
// looked at are on, a Node that was not seen is not healthy.
//
// Four things may be trusted, each for what it is:
//
//   - the record, as it was read by a quorum read: Decide wrote it
//   - the Node and its Lease, as the API server has them: not that the machine is off
//   - a device's answer to a read, about the power of the machine that it names: one answer
//     proves nothing, two a settle apart do (proof.go)
//   - a person's word, as long as nothing that is seen speaks against it
//
// Times are the API server's. A time that lies ahead is of unknown age: its clock was set back.
//
// # The outcome
//
// A phase is a list of rules, asked in turn. A rule returns an outcome (outcome.go). One that
// has nothing to say returns goOn, and the next is asked. The first that says anything ends the
// look, in one of three ways:
//
//   - stay: the fence stays in its phase, says why, and is looked at again after a time
//   - enter: it enters another phase
//   - carryOut: the one action is carried out, and looked at afterwards
//
// outcome.go alone writes the phase, the reason, the message and the time of the next look. A
// reason is for people. No rule reads it to decide.
//
// A question changes nothing: what returns a bool neither writes the record nor makes an
// outcome, and may be asked at any time, in any order, twice. Most questions stand in package
// facts, in which nothing writes anything.
//
// # Saved first
//
// The loop (package loop) looks, decides, saves the record by compare-and-swap, and only then
// acts. So the intent is known before the deed: a process that dies in between leaves a record
// that says what it was about to do, and until when that may still take effect. Who comes next
// waits for that time, looks, and goes on. A save that fails because somebody wrote meanwhile
// means that nothing is done: the record is read again, and decided on anew.
//
// A call to a device is claimed: the claim says who calls, which device, and until when the
// call may be under way (device.go). Until then nobody else calls. After a call the invocation
// looks once more, saves what it saw, and ends. A look says whether the next invocation is handed
// what is decided now (HandsOver): then the same save has the claim of its call.
//
// # Where what stands
//
// Read the types facts.Facts and decision (decide.go), and then the files in this order; each needs those
// before it. A file that is not listed belongs to one feature, which its name says (kdump,
// probing): skip it at first.
//
//	observed: seen.go left.go             what was seen outside of the record
//	facts: times.go facts.go devicefacts.go cutfacts.go
//	                                      for how long; questions about the record and the look
//	needs.go                              what of the world a record is decided by
//	outcome.go                            where a fence stands, and what is done next
//	proof.go                              what proves that a machine writes no more
//	device.go notes.go                    one call at a time, under a claim, and one protocol
//	                                      for every device
//	retry.go await.go                     what comes of a failure
//	ended.go slot.go                      what ends a fence early, and the slot that it holds
//	pending.go draining.go isolating.go fencing.go releasing.go
//	poweringon.go restoring.go report.go recovering.go resting.go
//	                                      the phases, one file each
//	decide.go                             what is noted first, and the table of the phases
//
// states.md has every transition that the walk has seen; WHY.md each reason for which a node
// is not fenced.
//
// # How to add a rule
//
// Say that a node with the label example.com/hold is not to be fenced while it has it.
//
// 1. Name the promise that it touches (../PROMISES.md). S17 says that the reason must still
// hold until the first Off. S25 says that what was begun runs to its end. So this rule holds
// first Offs only, and says nothing once d.Begun().
//
// 2. Give the look what it needs: a field Hold of Node, filled in by NodeFrom
// (../look/nodes.go), with a row in TestNodeFrom. Say what false means: no label was seen. It
// is also the value of a Node that was not looked at. If nothing else keeps such a Node from
// being fenced, choose a field that holds at its zero value.
//
// 3. Give it a word: a Reason in ../api/v1alpha1/reasons.go, its row in
// ../../infra/crd/REASONS.md, and its remedy in ../../sources/kubectl-fence/view/remedies.go. Of a row of the table of
// package hold both are made from the row.
//
// 4. Write the rule. A hold that follows from the policies and the node alone is a row of the table of package
// hold, and everybody who asks that table knows it (../../docs/internals/recipes.md). Another rule stands here: in
// pending.go it holds a fence until it has a slot. It goes into the list of the phase, after heldByNode: what follows may ask devices or the gate.
//
//	// heldByLabel holds a node that its owner keeps for now.
//	func (d *decision) heldByLabel() outcome {
//		if d.Begun() || !d.Seen.Node.Hold {
//			return goOn
//		}
//		return d.stay(api.HeldByLabel, keptByOwner, facts.Resync)
//	}
//
// A label may come later, when the fence has its slot. So the rule has a second part, in
// applyBrakes (ended.go), which cancel asks in every phase before the first Off:
//
//	case d.Seen.Node.Hold && d.Record.Phase != api.Pending:
//		why, msg = api.HeldByLabel, keptByOwner
//
// What two files need, as the words keptByOwner here, stands in package facts: files need each
// other in one direction. Choose whether our marks stay on the node meanwhile (stay leaves them,
// holdUnmarked takes them off first), and whether a person's word that the machine is off ends
// the hold. In Fencing that word is asked before applyBrakes; BeingDeleted is an example of a rule
// that gives way to it in every phase.
//
// 5. Test it at the boundary: a record and a look go into Decide, a phase, a reason and an
// action come out. under (begun_test.go) makes a fence in Fencing with a slot and the taint;
// change the phase in its function. Test each phase before the first Off with the label and
// without it, and one fence that was begun. See it fail. deleting_test.go is an example.
//
// 6. Add a situation to noes in why_test.go, which writes WHY.md.
//
// 7. Show it to the walk; read the page of package fencetest/walk first. Add a look with the
// field set to vary, in fencetest/walk/looks.go. Add a check to fencetest/walk/promises.go: it
// reads the look and what really happened (the shadow), never the record, as
//
//	say(act != fence.Off || !seen.Node.Hold || sh.cut, "S17: no first Off of a node that its owner keeps")
//
// If a decision depends on a new field of the record, that field belongs into key
// (fencetest/walk/key.go), by which states are told apart. TestWhatIsTheSameInEveryLook fails
// while no look of the walk has the field set. TestWalk fails while it never meets with the
// new Reason.
//
// 8. Add a broken twin to fencetest/twins/decide.go, a Decide that overlooks the label, and one
// that overlooks d.Begun(). Each has its row in breaks (fencetest/twins/breaks.go), with the
// exact words of the check that it fails. Each half of a condition needs one, or a test.
//
//	Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Hold = false })
//
// 9. Run one twin with
//
//	go test ./shared/fence -run 'TestEveryBrokenDecideIsCaught/^its_name_with_underscores$'
//
// A good one is caught within seconds; the page of package fencetest/twins says what to do
// about another. Then make generate, which walks everything and takes minutes, make verify, and
// make twins. Read the change of states.md: each new edge must be one that you wanted, here
// Isolating and Fencing to Pending by HeldByLabel. What the walk comes to, and what it does
// not, is told by
//
//	go test ./shared/fence -run 'TestWalk$' -v -timeout 30m
package fence

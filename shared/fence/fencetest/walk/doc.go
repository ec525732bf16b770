// Package walk visits every state that Decide can reach, under every look that the world can
// give it, hostile ones included, and holds each step against the promises (shared/PROMISES.md).
//
// What a reader must not get wrong: what is checked comes from the look and from what really
// happened (the shadow), never from the record, which Decide itself wrote.
//
// # What is walked
//
// The walk begins with a fence that has just opened, of each kind in package specs
// (origins.go). From a state it takes every look that can come next, asks Decide, and goes to
// what Decide made of the record. A call to a device is not carried out: the next looks are all
// the ends that it can have, with whoever made it and with another who comes by (callers in
// looks.go). A state that was visited before is left alone, so the walk ends: it has then been
// everywhere.
//
// Some kinds are a world of their own, walked aside from the others up to where they go on like
// any fence (asides in origins.go, and the methods past… of State). Two are walked in tests of
// their own, TestSecondWalk and TestJoinsWalk: they keep what is told, and let requests come.
//
// # What a state is
//
// A State (state.go) is the record, the time, what the gate and people have decided (spec), and
// the shadow: when the Lease really moved, what the device really said last, whether our Off
// was sent and what undid it, until when a call may still take effect. The shadow is kept by
// step.go and shadow.go from looks and actions. A broken Decide can write what it likes into
// the record; it can't reach the shadow.
//
// Two states are one if they have the same key (key.go). Times go into it as the number of
// limits that they have passed, never as they are: a read is younger or older than what an Off
// may follow, and more is not asked of it. What a phase and those after it read no more is left
// out. So the key says what Decide may depend on. Where it says too little, two states that
// differ are taken for one, and what comes of the second is never seen.
//
// What else is taken for the same, and what no state has, stands in limits.go, and is printed
// with the rest of the coverage by
//
//	go test ./shared/fence -run 'TestWalk$' -v -timeout 30m
//
// # What is checked
//
// check (promises.go) sees each step: the state before, its shadow, the record as it was given
// to Decide, the look, the record after, the action, and the time. It says promises:
//
//	say(act != fence.Off || clear(seen.Brakes), "S25: no Off while a brake is on")
//
// The words are the promise's name for the twins, and the first step that breaks it is kept.
// Times that are promised are in promised.go. They are not those of the code, so that a wrong
// constant there breaks a promise here. Some states are also followed into worlds that mean
// well, where each must come to an end (liveness.go).
//
// # Where what stands
//
//	run.go                       Run, its Options and Result: all that a test needs
//	state.go shadow.go key.go    what a state is, what really happened, what tells states apart
//	looks.go                     every look at a state
//	step.go walk.go              one step, and all of them
//	promises.go promised.go      what is checked, and the times that are promised
//	liveness.go                  that it ends
//	origins.go places.go         where a walk begins, and where a hunt for a twin does
//	coverage.go limits.go met.go what the walk has come to, and what it does not
//	diagram.go                   states.md
//
// Each other file belongs to one kind of fence, and has its looks, its part of the key, its part
// of the shadow and its checks: alone.go (a Machine without a node), batch.go (a release at a
// rate), counted*.go (tries and cuts are counted), dryrun.go (mode DryRun), held.go and windows.go (pause windows, a
// restored API server), lies.go (a device that may lie), reads.go (action WaitForOff), suspect.go (a still Lease alone). The report
// of a fence is in trail.go.
//
// # How to add a look
//
// For a field that only some phases read, add a case to vary in looks.go, or to a function of
// your own that vary calls:
//
//	case api.Pending:
//		with(func(y *observed.Look) { y.Node.Hold = true })
//
// vary is called for each combination of a node that is Ready or not, a Lease that moved or
// not, and a boot, so one look there is up to eight. What goes with one of them only belongs to
// bases. How a call can end belongs to callers, what people ask to asking, a new time to waits.
// If the field was in Unvaried (limits.go), take it out there.
//
// # How to add a check
//
// Write it into the function of promises.go that has its like, or into one of your own that
// check calls. Name the promise in a few words, and no other check by the same words. Read the
// look, the shadow and the action; of the record only what people or the gate have written.
// What the shadow does not know yet is a field of shadow, kept by step, and a part of the key
// where a check depends on it.
//
// # How to add a field to the key
//
// If a decision depends on a new field of the record, key must tell states apart by it, in the
// phases that read it: a time by age, with the limits that Decide compares it with, anything
// else as it is. A field of one kind of fence belongs into that kind's part of the key. A field
// that nobody reads to decide is dropped in strip, so that it makes no state of its own.
// Compare the number of states before and after: where it has doubled, the field is told apart
// in phases that do not read it.
//
// # How to add a kind of fence
//
// Add its Given to package specs, a method isX of State that knows it by that, and its file
// here. If it may be mixed with the others, it belongs into Starts. If not, it belongs into
// asides, with a method pastX that says from where it goes on like any other. Its twins show
// whether its rules are walked: a twin that survives lacks its rule where nobody looks.
package walk

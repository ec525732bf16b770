// Package judge says of the history of a cluster whether nodefence has broken a promise
// (shared/PROMISES.md). It reads three logs that nodefence does not write: the audit log of the API server,
// the journal of the BMCs, and the journal of the writers of volumes.
//
// What a reader must not get wrong: the judge shares no code with the core. It knows the types of
// nodefence's kinds, and has its own reading of each promise. So a mistake of the core is not repeated
// here.
//
// Read the files in this order:
//
//	history.go             the three logs, as Go types
//	audit.go journals.go   how the logs are read
//	timeline.go            the versions of each object, and which of them stood at a time
//	verdict.go             what a judgement says
//	judge.go               the list of the rules
//	off.go brakes.go       each Off lies within a claim and a reservation; no brake stood before
//	limits.go              no reservation goes above its limit
//	proof.go readoff.go    each proof has its evidence
//	release.go             each release rests on a proof
//	evidence.go            no evidence is used twice
//	marks.go               nothing is left on a node
//	onewriter.go           two writers never overlap
//
// # What the logs do not show
//
// Reads of the API server are not logged, so that nobody knows which brakes an invocation saw. A brake
// counts from lookTakes after it was written. A device without a journal leaves only what nodefence's own
// record says of it. A Verdict names in NotJudged what could not be judged.
package judge

// Package judge says of the history of a cluster whether nodefence has broken a promise
// (shared/PROMISES.md). The judge reads three logs, none of them written by nodefence: the audit log of the API server,
// the journal of the BMCs, and the journal of the writers of volumes.
//
// What a reader must not get wrong: the judge shares no code with the core. The judge knows the types of
// nodefence's kinds, and has a reading of each promise of its own, so that a mistake of the core is not repeated.
//
// Read the files in this order:
//
//	history.go             the three logs, as Go types
//	audit.go journals.go   how the logs are read
//	bodies.go              which parts of the bodies are kept, and how many
//	timeline.go            the versions of each object, and the version at a time
//	verdict.go             the result: breaches, and rules that could not be judged
//	withoutrule.go         promises that no rule is about
//	judge.go               the list of the rules
//	off.go brakes.go       each Off lies within a claim and a reservation; no brake stood before
//	limits.go checks.go rates.go
//	                       no reservation, round of checks or rate goes above its limit
//	proof.go seenoff.go confirmed.go
//	                       each proof has its evidence
//	release.go             each release rests on a proof
//	evidence.go            no evidence is used twice
//	marks.go               nothing is left on a node
//	onewriter.go           two writers never overlap
//
// # Limits of the logs
//
// Reads of the API server are not logged, so that nobody knows which brakes an invocation saw. A brake
// counts from lookTakes after its write. Of a device without a journal only nodefence's own record speaks.
// Verdict.NotJudged names the rules that could not be judged.
package judge

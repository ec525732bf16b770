// Package report tells people what is decided: one log line for each decision, metrics, and
// Kubernetes Events.
//
// What a reader must not get wrong: no program decides by a report, and a lost report does
// no harm, because the whole story is in the record.
package report

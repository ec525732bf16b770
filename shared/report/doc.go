// Package report tells people what is decided: one log line a decision, metrics, and
// Kubernetes Events.
//
// What a reader must not get wrong: nobody decides by what is reported, and a report
// that is lost does no harm, because the whole story stands in the record.
package report

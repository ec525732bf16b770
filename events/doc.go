// Package events builds and reads every CloudEvent of nodefence.
//
// What a reader must not get wrong: an event carries a reference and what
// routing needs, never authority and never the truth. Whoever gets one looks at
// the API server before doing anything (S18).
package events

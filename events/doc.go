// Package events builds and reads every CloudEvent of nodefence.
//
// What a reader must not get wrong: an event has a reference and the values that routing
// needs, but it is neither an authority nor the truth. Its receiver looks at the API server
// before it acts (S18: no event is believed).
package events

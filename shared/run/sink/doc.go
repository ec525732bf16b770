// Package sink posts events to one URL, as a Knative SinkBinding configures it: the
// source's events, and those of functions that send more than one reply.
//
// What a reader must not get wrong: events and the token go only to the configured sink. No
// redirect is followed.
package sink

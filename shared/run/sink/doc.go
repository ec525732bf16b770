// Package sink posts events to one URL, the way a Knative SinkBinding says it:
// the source's, and those of functions that have more to say than one reply.
//
// What a reader must not get wrong: the sink is the one that was configured. No
// redirect is followed, and the token goes nowhere else.
package sink

// Package invoke calls AWS Lambda functions directly, without an event bus.
//
// What a reader must not get wrong: it does not wait for the result of the event. The
// called function puts its own reply on the bus.
package invoke

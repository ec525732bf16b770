// Package invoke calls AWS Lambda functions, past any event bus.
//
// What a reader must not get wrong: it does not wait for what becomes of the event.
// The function that is called puts its own reply on the bus.
package invoke

// Package lambda runs a run.Handler as an AWS Lambda function behind
// EventBridge. It is a package of its own, so that only what runs there carries
// the runtime's client.
//
// What a reader must not get wrong: an error makes Lambda invoke again, a minute
// later and at most twice; nil ends the event, whatever became of it. What no
// repetition can mend is therefore logged and acknowledged.
package lambda

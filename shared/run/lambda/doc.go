// Package lambda runs a run.Handler as an AWS Lambda function behind EventBridge. It is a
// package of its own, so that only programs for Lambda link the runtime's client.
//
// What a reader must not get wrong: an error makes Lambda invoke again, a minute later and
// at most twice; nil ends the event, even if it failed. So an error that no repetition can
// help is logged, and the event is acknowledged.
package lambda

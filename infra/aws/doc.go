// Package aws carries the SAM template with which nodefence is installed on AWS,
// and reads it, so that tests route events by the very rules that are deployed.
//
// What a reader must not get wrong: it understands what this template uses, and
// refuses the rest of EventBridge's patterns rather than guess what they match.
package aws

// Package aws has the SAM template with which nodefence is installed on AWS, and reads it,
// so that tests route events by the same rules that are deployed.
//
// What a reader must not get wrong: the package understands only the parts of EventBridge's
// patterns that this template uses. It refuses the other parts, and does not guess what
// they match.
package aws

// Package devicecall makes the one device call of an invocation, within the claim that was saved
// for it.
//
// What a reader must not get wrong: however a call ends, its end is an observation for the
// next decision, and never evidence of its effect.
package devicecall

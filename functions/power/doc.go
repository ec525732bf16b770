// Package power makes every call to a machine's power device: state, off, on.
//
// What a reader must not get wrong: it makes one call an invocation, under a
// claim that is saved before, and believes only what a later read says.
package power

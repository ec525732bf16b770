// Package plan says how a node would be fenced, or why a fence would be refused, before a fence is
// needed. It only reads.
//
// What a reader must not get wrong: it has no rules of its own. Policy, device and limits
// are resolved by the code of the gate, and the verdict is that of the automaton.
package plan

// Package isolate keeps new work away from a node that is about to be fenced:
// our NoSchedule taint and, where the node was schedulable, a cordon.
//
// What a reader must not get wrong: isolation proves nothing. It only keeps the
// scheduler from placing work on a machine that is about to lose its power.
package isolate

// Package process starts the long-running parts of a lab and ends them again.
//
// A PID alone identifies no process: it is reused. An ID also holds when the process began and in
// which boot, and nothing is signalled unless all three match.
package process

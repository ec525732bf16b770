// Package cli is the command line of the lab.
//
// Scripts read it: the answer, and nothing else, goes to stdout, and the exit
// code tells a bad answer (1) from no answer (2).
package cli

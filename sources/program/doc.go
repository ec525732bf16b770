// Package program is how the programs that have a source begin and end.
//
// What a reader must not get wrong: its parts end together. One that has ended, for
// whatever reason, is of no use to the others, and the program is to be started anew.
package program

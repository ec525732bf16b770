// Package program starts and stops the programs that have a source.
//
// What a reader must not get wrong: the parts of a program end together. When one part has
// ended, for any reason, the others are of no use, and the program must be restarted.
package program

// Package probe tells by a TCP connection whether a machine answers.
//
// What a reader must not get wrong: silence counts only beside an answer. Who
// hears nobody may be the one that is cut off, and that is neither activity nor
// its absence.
package probe

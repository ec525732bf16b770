// Package probe tests by a TCP connection whether a machine answers.
//
// What a reader must not get wrong: silence counts only if another machine answers. A
// process that gets no answer at all may itself be cut off; that shows neither activity nor
// silence.
package probe

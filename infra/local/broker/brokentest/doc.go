// Package brokentest breaks the disk under a broker in this process.
//
// What a reader must not get wrong: the broker's files stay as they were. Only the handles
// that this process has open refuse every write.
package brokentest

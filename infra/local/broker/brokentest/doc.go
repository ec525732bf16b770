// Package brokentest breaks the disk under a broker of this process.
//
// What a reader must not get wrong: the broker's files are as they were; it is the
// process's own handles of them that refuse every write.
package brokentest

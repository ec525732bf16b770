// Package mem is a rack of machines that exist in memory only, for tests.
//
// What a reader must not get wrong: a machine's name up to its first "-" says
// how its device misbehaves, and any other name is an honest one's.
package mem

// Package mem is a rack of machines that exist in memory only, for tests.
//
// What a reader must not get wrong: a machine's name up to its first "-" says how its
// device misbehaves. With any other name the device is honest.
package mem

// Package devicetest is the one suite that every driver passes.
//
// What a reader must not get wrong: the machine's own On is the truth, and the driver's
// answer is what is tested. A harness that asks the driver tests nothing.
package devicetest

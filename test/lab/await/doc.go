// Package await lets the lab's tests wait for what other processes do.
//
// What a reader must not get wrong: its time limit ends a test that hangs, and does not promise
// how soon something happens.
package await

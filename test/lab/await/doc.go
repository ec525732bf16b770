// Package await is how the lab's tests wait for what other processes do.
//
// What a reader must not get wrong: the time that it waits at the most ends a test that
// hangs, and is no promise of how soon something comes.
package await

// Package deadletter says of every event that a broker gave up, where it was
// going and why, and of every event that no function takes because its type is
// misspelt, so that somebody looks.
//
// What a reader must not get wrong: nothing is lost with an event that was given up.
// The fence is found again by its nextLook (S19); this function only tells. A
// misspelt one asked for nothing: its sender has to send another.
package deadletter

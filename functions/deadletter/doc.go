// Package deadletter says of every event that a broker gave up, where it was
// going and why, so that somebody looks.
//
// What a reader must not get wrong: nothing is lost with such an event. The
// fence is found again by its nextCheck (S19); this function only tells.
package deadletter

// Package outbox keeps each event that the source sends until the broker has it.
//
// What a reader must not get wrong: a letter leaves the outbox only when its event is sent, when
// it is stale, or when a newer letter about the same was put. So of two letters about the same
// the last that was put wins, and who puts them must put them in the order of the changes. The
// outbox calls Letter.Stale without its own lock, because that function may take the lock of the
// part that put the letter.
package outbox

// Package due knows the open fences and when each is to be looked at, and puts their wake-ups
// into the outbox.
//
// What a reader must not get wrong: the due time is part of the ID of a wake-up's event, and a
// broker drops the second of two equal IDs. So a fence that is sent again while nothing about it
// has changed needs another due time (S19: a lost event costs time only). The store puts a wake-up
// while it holds its lock: the outbox sends only the last that was put about a fence, so the order
// of puts must be the order of changes.
package due

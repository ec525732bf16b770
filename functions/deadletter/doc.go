// Package deadletter reports every event that a broker gave up, with its destination and
// the reason, and every event that no function takes because its type is misspelled, so
// that a person looks.
//
// What a reader must not get wrong: no fence is lost with an event that was given up. The
// fence is found again by its nextLook (S19: a lost event costs time only); this function
// only reports. An event that asked for a fence by itself, and not for a FenceRequest, is
// lost, and so is a misspelled one: its sender has to send another.
package deadletter

// Package rest has a driver's words with a cloud's API: one JSON request over
// HTTPS, sent once, whose answer is sorted into the words that every driver uses.
//
// What a reader must not get wrong: an answer that is a success says that the
// API took the request, and nothing of the machine.
package rest

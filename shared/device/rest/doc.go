// Package rest sends a driver's requests to a cloud's API: one JSON request over HTTPS,
// sent once, whose answer is sorted into the errors that every driver uses.
//
// What a reader must not get wrong: a success says only that the API accepted the request,
// and nothing about the machine.
package rest

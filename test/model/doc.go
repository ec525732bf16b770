// Package model runs the real gate, loop and functions against an API server in
// memory, with every call a point at which another process may go first.
//
// What a reader must not get wrong: the code under test is the code that ships,
// down to the HTTP client; only the server, the machines and the order of calls
// are the model's.
package model

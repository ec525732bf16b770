// Package control serves a lab's control socket: commands about its machines, over HTTP.
//
// Passwords of BMCs are in the answers, so that nobody but the lab's user may open the socket.
package control

// Package wire writes and reads the datagrams of IPMI v2.0 over LAN (RMCP+) that the
// driver needs: the login (Open Session, RAKP 1 to 4) and IPMI messages in a session. It
// is pure: no socket, no clock.
//
// What a reader must not get wrong: whoever can reach the port can send any datagram in
// the BMC's name. Unseal is the only way from a datagram of a session to a message, and
// it gives none that is not authenticated with the keys of this login.
package wire

// Package wire writes and reads the datagrams of IPMI v2.0 over LAN (RMCP+) that the driver
// needs: the login (Open Session, RAKP 1 to 4) and IPMI messages in a session. It is pure:
// no socket, no clock.
//
// What a reader must not get wrong: anybody who can reach the port can send any datagram in
// the BMC's name. Unseal is the only way from a datagram of a session to a message. It
// returns no message that is not authenticated with the keys of this login.
package wire

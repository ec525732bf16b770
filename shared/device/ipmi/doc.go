// Package ipmi switches machines through their BMC by IPMI 2.0 over LAN.
//
// What a reader must not get wrong: a command is sent once. If its answer is lost, only
// State tells whether it took effect.
//
// The driver has an IPMI client of its own (packages wire and rmcp) and uses no library: an
// answer decides whether a machine is off, so it must be the BMC's. Package rmcp says why a
// layer that checks what a library receives would not be enough.
package ipmi

// Package ipmi switches machines through their BMC by IPMI 2.0 over LAN.
//
// What a reader must not get wrong: a command is sent once. If its answer is
// lost nobody knows whether it took effect, and only State tells.
//
// The driver has an IPMI client of its own (packages wire and rmcp) and no library: an
// answer decides whether a machine is off, so it must be the BMC's. Package rmcp says
// why a layer that checks what a library receives would not do.
package ipmi

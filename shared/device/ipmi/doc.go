// Package ipmi switches machines through their BMC by IPMI 2.0 over LAN.
//
// What a reader must not get wrong: a command is sent once. If its answer is
// lost nobody knows whether it took effect, and only State tells.
package ipmi

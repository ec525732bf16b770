// Package device is the contract with the devices that switch machines: read the power
// state, switch off, switch on, and nothing else. There is no reset and no power cycle,
// because a reboot whose off was never seen proves nothing (S4: off, seen off, released,
// on).
//
// What a reader must not get wrong: a return from Off or On says only that the call came
// back. Whether the machine is off is what a later State reads (S2: what is unknown is
// never taken for off).
package device

// Package device is the contract with the devices that switch machines: their
// power state read, off, on, and nothing else. There is no reset and no cycle,
// because a reboot whose off was never seen proves nothing (S4).
//
// What a reader must not get wrong: a return from Off or On says only that the
// call came back. Whether the machine is off is what State reads later (S2).
package device

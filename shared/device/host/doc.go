// Package host reads the addresses of devices from parameters.
//
// What a reader must not get wrong: one machine has one spelling here. Two nodes with one
// device are noticed by comparing these texts (S11: the device is the node's own).
package host

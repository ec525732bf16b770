// Package bmc is the management controller of one simulated machine: real IPMI
// 2.0 over UDP, with faults that can be switched on and off.
//
// What a reader must not get wrong: the log is what the controller was told and
// accepted, whatever became of it. The machine's own state is the machine's.
package bmc

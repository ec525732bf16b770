// Package simclient talks to the simulated machines of a running lab.
//
// A machine's BMC password is in the answer to Status and must not be printed
// anywhere but where a user asked for exactly that.
package simclient

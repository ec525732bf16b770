// Package healthchecks keeps the FencePolicies of MachineHealthChecks up to date: at every tick of
// a clock it reads the MachineHealthChecks, and writes the policies, the labels of Nodes and the
// objects' own statuses, as package mhc decides.
//
// What a reader must not get wrong: what can't be read is not gone. Nothing that follows from it is
// changed, and a policy is held rather than deleted (MACHINEHEALTHCHECKS.md of policystatus, the
// function that runs this). It begins no fence.
package healthchecks

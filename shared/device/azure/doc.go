// Package azure switches Azure virtual machines by Azure Resource Manager.
//
// What a reader must not get wrong: a provisioning state says how a request went
// and nothing of the power. Only PowerState/stopped and PowerState/deallocated
// are off; without a power state nobody knows (S2).
package azure

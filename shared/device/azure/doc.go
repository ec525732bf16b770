// Package azure switches Azure virtual machines by Azure Resource Manager.
//
// What a reader must not get wrong: a provisioning state says how a request went, and
// nothing about the power. Only PowerState/stopped and PowerState/deallocated are off;
// without a power state nothing is known (S2: what is unknown is never taken for off).
package azure

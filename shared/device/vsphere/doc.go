// Package vsphere switches virtual machines by vCenter or an ESXi host.
//
// What a reader must not get wrong: for machines on hosts that vCenter has lost, it answers
// from memory. Its answer counts only while the machine and the machine's host are
// connected to it (S2: what is unknown is never taken for off).
package vsphere

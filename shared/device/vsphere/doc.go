// Package vsphere switches virtual machines by vCenter or an ESXi host.
//
// What a reader must not get wrong: vCenter answers for machines on hosts that
// it has lost, from memory. Its word counts only while the machine's host is
// connected to it, and so is the machine (S2).
package vsphere

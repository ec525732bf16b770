// Package bmc gives a simulated machine a BMC that speaks IPMI v2.0 over UDP
// and can be told to misbehave.
//
// The GUID is sent in the byte order of SMBIOS, with its first three fields little-endian: that
// is what ipmitool and go-ipmi print as the system's UUID.
package bmc

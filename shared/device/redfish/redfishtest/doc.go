// Package redfishtest is the part of a BMC with Redfish that switching a machine needs:
// some systems, their power, users, and the API over HTTPS.
//
// What a reader must not get wrong: nodefence's own authors wrote it, from the DMTF's
// public documents. Debian's fence_redfish, which other authors wrote, can switch its
// machines. It was never compared with a real BMC.
package redfishtest

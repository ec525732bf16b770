// Package redfishtest is as much of a BMC with Redfish as switching a machine
// needs: some systems, their power, who may log in, and the API over HTTPS.
//
// What a reader must not get wrong: nodefence's own authors wrote it, from the
// DMTF's public documents. Debian's fence_redfish switches its machines, which
// nobody here wrote; it was never compared with a real BMC.
package redfishtest

// Package observed is what a fence is decided on besides its record: the node, its Lease, the
// answer of a device, the brakes, and what is left to release.
//
// A zero value says that nothing was seen. Rules ask "saw X" and never "did not see Y", so that
// what was not looked at leads to no action.
package observed

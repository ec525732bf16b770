// Package kube is nodefence's client of the API server: reads, compare-and-swap writes,
// marks on nodes, and the API server's clock. There is one file for each kind of object.
//
// What a reader must not get wrong: a Client reads from the API server at each call. Such a
// request has no resourceVersion, so the API server answers it from a quorum. Only a Reader
// may answer Node, Lease, Ledger and Policies with what this process has read or written less than a
// second ago, and not before a time that the caller names. A mark is
// first placed by compare-and-swap on the Node as it was seen within that second: if the Node has
// changed, it is read again (reader.go).
package kube

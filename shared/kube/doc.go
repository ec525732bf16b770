// Package kube is nodefence's client of the API server: reads, compare-and-swap writes,
// marks on nodes, and the API server's clock. There is one file for each kind of object.
//
// What a reader must not get wrong: a Client reads each time it is asked. Such a request
// carries no resourceVersion, so the API server answers it from a quorum. Only what Since
// and Anew give, a Recent, may answer Node, Lease, Ledger and Policies from what this process
// has read or written since a moment that the caller names, and less than a second ago.
// A mark is placed first on the Node as it was seen within that second, by compare-and-swap:
// where that is not how it stands, it is read (recent.go).
package kube

// Package kube is nodefence's access to the API server: quorum reads,
// compare-and-swap writes, marks on nodes, and the API server's clock.
//
// What a reader must not get wrong: reads here carry no resourceVersion, so the
// API server answers them from a quorum; a cache would show yesterday's state
// to a decision of today.
package kube

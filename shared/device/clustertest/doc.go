// Package clustertest is the part of a Kubernetes API server that drivers need if they act
// by objects of the cluster: documents, their versions, finalizers, deletion.
//
// What a reader must not get wrong: it is nodefence's own. The tests in test/e2e use a real
// API server; this one is for faults that a real server can't be made to have.
package clustertest

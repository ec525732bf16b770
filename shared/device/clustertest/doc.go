// Package clustertest is as much of a Kubernetes API server as drivers need that
// act by objects of the cluster: documents, their versions, finalizers, deletion.
//
// What a reader must not get wrong: it is nodefence's own. A real API server is
// spoken with in test/e2e; this one is for what that can't be made to do.
package clustertest

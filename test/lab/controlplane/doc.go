// Command kube is a Kubernetes control plane in one executable: etcd, the API
// server, the controller manager and the scheduler, the real ones.
//
// "kube all FILE" runs the four in one process, which starts faster and needs
// half the memory. If one of them ends, the process ends: half a control plane
// would make a test fail for a reason that nobody looks for. For a test that
// wants to lose just one part, each can be run alone.
package main

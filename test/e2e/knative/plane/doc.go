// Package plane runs Knative Eventing's own programs as plain processes against
// a lab's API server: the real data plane without containers.
//
// What a reader must not get wrong: what is between the programs is ours. Each
// has a network namespace of its own, because several insist on port 8080, and
// a proxy stands for the cluster's DNS and kube-proxy. The namespaces have no
// name and no link: they go with the test's process, however that ends.
package plane

// Package apilint holds the API to what judges it elsewhere, without a server: the API
// server's own validation of a CustomResourceDefinition, with its estimate of what the
// rules cost, and sigs.k8s.io/kube-api-linter. It is a module of its own, so that nobody
// else depends on them.
package apilint

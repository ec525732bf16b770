// Package apilint checks the API without a server: with the API server's own validation of a
// CustomResourceDefinition, which estimates what the rules cost, and with
// sigs.k8s.io/kube-api-linter. It is a module of its own, so that no other package depends on
// these.
package apilint

// Package pki makes the keys and certificates of one lab.
//
// They are made anew for each lab and live in its private folder only; the
// authority that signs them signs nothing else, so that the kubeconfig of one
// lab never opens another.
package pki

// Package pki makes the keys and certificates of one lab.
//
// They are made for each lab, and exist only in its private folder. The authority that signs them
// signs nothing else, so that the kubeconfig of one lab never gives access to another.
package pki

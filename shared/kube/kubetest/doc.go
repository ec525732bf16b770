// Package kubetest answers in an API server's place, for tests of what asks one.
//
// What a reader must not get wrong: it keeps nothing and refuses nothing that a test does
// not say. How a real API server behaves is seen in test/e2e.
package kubetest

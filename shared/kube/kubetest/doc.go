// Package kubetest answers in place of an API server, for tests of its clients.
//
// What a reader must not get wrong: it keeps and refuses only what a test says. test/e2e shows
// how a real API server behaves.
package kubetest

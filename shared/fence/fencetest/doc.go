// Package fencetest is what the tests of fence, admission and policy begin with: a fence,
// a cluster of ten nodes, a ledger, policies and Machines, all of one moment.
//
// What a reader must not get wrong: what is made here is what a test changes, and no test
// may rest on a detail that it does not name itself.
package fencetest

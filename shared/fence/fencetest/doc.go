// Package fencetest is what the tests of fence, admission and policy begin with: a fence,
// a cluster of ten nodes, a ledger, policies and Machines, all of one moment, and what is seen
// of them.
//
// What a reader must not get wrong: what is made here is what a test changes, and no test
// may rest on a detail that it does not name itself.
//
//	specs    one fence of each kind
//	walk     every state that Decide can reach, and what is promised of each step
//	twins    Decides that lack one guard each, which the walk must catch
//
// Whoever adds a rule reads walk first; ../doc.go has the whole way.
package fencetest

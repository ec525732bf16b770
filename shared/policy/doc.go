// Package policy says which FencePolicies are about a node, and with which result: which
// one decides, whose limits hold, when their pause windows are open, and which nodes they
// expect.
//
// What a reader must not get wrong: for limits and exclusions, a selector that can't be
// read selects every node. For actions it selects no node. In doubt a brake holds, and
// nothing is switched off.
package policy

// Package policy says which FencePolicies are about a node and what they come to: which
// one decides, whose limits hold, when their pause windows are open, and which nodes they
// expect.
//
// What a reader must not get wrong: a selector that can't be read selects every node where
// limits and exclusions are asked for, and no node where something is done to what it
// selects. In doubt a brake holds and nothing is switched off.
package policy

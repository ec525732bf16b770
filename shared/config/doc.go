// Package config reads from ConfigMaps which device switches a node's machine,
// and by which steps.
//
// What a reader must not get wrong: it never guesses. Whatever has two readings,
// or takes the machine from an object that is not about this one node, is an
// error, and a node with an error has no binding at all (S11). What it does not
// carry out stands in the plan's notes.
package config

// Package config reads from ConfigMaps which device switches a node's machine, and by which
// steps.
//
// What a reader must not get wrong: the package never guesses. A configuration with two
// readings is an error. So is a configuration that takes the machine from an object which
// is not about this one node. A node with an error has no binding at all (S11: the device
// is the node's own). Requests that are not carried out are listed in the plan's notes.
package config

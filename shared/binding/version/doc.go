// Package version is one word for all ConfigMaps from which nodes' devices are resolved.
//
// What a reader must not get wrong: the word follows from what the ConfigMaps are and from
// nothing else, so that the source, which watches them, and a function that has listed them
// come to the same word for the same state (S11: the device is the node's own).
package version

// Package npd pins node-problem-detector, which TestNodeProblemDetector builds and runs.
//
// What a reader must not get wrong: the program is the project's own, unchanged. A module of its own
// keeps what it needs out of nodefence's go.mod.
package npd

// Package checkjobs runs the checks of a fence that are Jobs.
//
// What a reader must not get wrong: only a Job that has ended gives an answer, and only an
// observed exit code of 1 says that the node is silent. A check mounts no volume that only
// one node at a time may mount, has no rights, and runs on another node than the one that
// it checks.
package checkjobs

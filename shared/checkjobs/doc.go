// Package checkjobs runs the checks of a fence that are Jobs.
//
// What a reader must not get wrong: only a Job that has ended answers, and only an exit
// code of 1 that was seen says that the node is silent. A check mounts nothing that one
// node at a time may mount, has no rights, and runs on another node than the one that it
// asks about.
package checkjobs

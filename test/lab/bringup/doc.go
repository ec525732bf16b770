// Package bringup starts a lab, watches it and ends it.
//
// Up either leaves a lab that works or leaves nothing: each process is recorded as soon as it
// runs, so that the command that cleans up, which may be a later one, knows what it must end.
package bringup

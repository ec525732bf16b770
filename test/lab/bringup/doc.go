// Package bringup starts a lab, looks after it and ends it.
//
// Up either leaves a lab that works or leaves nothing: each process is recorded
// as soon as it runs, so that whoever cleans up, and be it a later command,
// knows what there is to end.
package bringup

// Package job switches machines by ClusterLabs fence agents that run in pods of their own,
// one Kubernetes Job for each call to a device.
//
// What a reader must not get wrong: a Job that failed, was deleted or is missing says
// nothing about what its pod did or still does. Only a container that was seen terminated
// has ended (S10: nothing outlives its deadline), and only its own report then counts (S2:
// what is unknown is never taken for off).
package job

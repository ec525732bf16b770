// Package job switches machines by ClusterLabs fence agents that run in pods of
// their own, one Kubernetes Job for each word with a device.
//
// What a reader must not get wrong: a Job that failed, was deleted or is not
// there says nothing of what its pod did or still does. Only a container that was
// seen terminated has ended (S10), and only what it then said of itself counts
// (S2).
package job

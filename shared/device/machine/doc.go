// Package machine ends machines by deleting their Machine objects, for the Machine API of
// OpenShift and of Cluster API, whose controllers then end the instance.
//
// What a reader must not get wrong: a deleted or missing object says nothing about the
// instance (S2: what is unknown is never taken for off). Whether the instance is off is
// read from its cloud, by the cloud's own driver and the enrolled provider ID.
package machine

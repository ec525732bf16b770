// Package machine ends machines by deleting their Machine objects, for the Machine
// API of OpenShift and of Cluster API, whose controllers then end the instance.
//
// What a reader must not get wrong: that the object is deleted, or gone, says
// nothing of the instance (S2). Whether that is off is read from its cloud, by the
// cloud's own driver and the provider ID with which the node was enrolled.
package machine

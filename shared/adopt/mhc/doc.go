// Package mhc reads the MachineHealthChecks of OpenShift's Machine API (machine.openshift.io/v1beta1)
// and of Cluster API (cluster.x-k8s.io/v1beta1 and v1beta2), and says what follows from one: a
// FencePolicy, the Nodes that the policy is about, and the MachineHealthCheck's own status. It is
// pure: no client and no clock.
//
// What a reader must not get wrong: a MachineHealthCheck is answered as a whole or not at all. A
// field that has no counterpart here, or that this program does not know, refuses it (Refused), and
// the error names the field: a policy that leaves one of its conditions out would be another
// policy. And the controller that these objects are written for comes first: while it may be alive,
// nothing follows from them (Whose).
package mhc

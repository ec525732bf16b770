// Package nhc plays medik8s' NodeHealthCheck to a cluster, so that tests can show what nodefence is
// to a cluster that is driven by it.
//
// Unverified: it was written from what is documented of NodeHealthCheck and its objects, in words and
// code of our own. The operator itself never ran here. What it does, in the order of each look:
//
//   - reads a NodeHealthCheck, and does nothing while spec.pauseRequests is not empty;
//   - deletes an object of its own whose node is gone. One that says PermanentNodeDeletionExpected it
//     keeps until it also says Succeeded;
//   - deletes its objects of a node that is healthy again, and gives the node's Lease up when the last
//     of them is gone;
//   - for an unhealthy node without the label remediation.medik8s.io/exclude-from-remediation=true it
//     takes the first template that has not been given up, and makes the object that belongs to it,
//     after it has taken Lease medik8s-leases/node-<node>;
//   - gives an object up that says Succeeded=False, or that has lasted as long as its template may:
//     it writes the annotation remediation.medik8s.io/nhc-timed-out, unless the object says
//     Succeeded, and takes the next template.
//
// What it leaves out: minHealthy and maxUnhealthy, the operator's own storms, the check of etcd's
// quorum, healthyDelay, its status, and the end of a Lease that is held too long. The budget of
// nodefence is tested elsewhere.
package nhc

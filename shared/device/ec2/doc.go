// Package ec2 switches Amazon EC2 instances by the EC2 API. As driver ec2-network it cuts
// them off by their security groups.
//
// What a reader must not get wrong: only the states stopped and terminated are off. An
// instance that is stopping, or shutting down, still runs and writes for an unknown time,
// whoever asked for that: it is neither on nor off (S2: what is unknown is never taken for
// off). An instance that the API does not find proves nothing.
package ec2

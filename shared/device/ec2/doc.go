// Package ec2 switches Amazon EC2 instances by the EC2 API, and as driver
// ec2-network cuts them off by their security groups.
//
// What a reader must not get wrong: only the states stopped and terminated are
// off. An instance that is stopping, or shutting down, still runs and writes
// for as long as it likes (S2), whoever asked for it: it is neither on nor off. One
// that the API does not find proves nothing.
package ec2

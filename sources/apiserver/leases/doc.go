// Package leases observes the Leases of nodes, draws the picture of them for the ledger, and puts
// an event into the outbox for each Lease that stands still.
//
// What a reader must not get wrong: what counts is when this source saw a Lease move, by the API
// server's clock (S30), and never what a Lease says of its own time. A Lease that nobody watched
// looks as if it stood still or had just moved. So a gap in the watch begins the observation
// again, and no suspect is sent by a picture that spans less than a renewal (S15: no fence begins
// on such a picture).
package leases

// Package broker is the local runner's event broker: NATS JetStream inside the
// process, on disk, routing by the Trigger objects that a cluster is given.
//
// What a reader must not get wrong: an event is delivered at least once and in
// no order. After a crash whatever was not acknowledged comes again, beside
// newer events of the same node.
package broker

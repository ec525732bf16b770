// Package broker is the local runner's event broker: NATS JetStream inside the process, on
// disk, routing by the same Trigger objects as a cluster.
//
// What a reader must not get wrong: an event is delivered at least once and in no order.
// After a crash, every event that was not acknowledged is delivered again, mixed with newer
// events of the same node.
package broker

package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// dumpSlot is the time within which all messages of one node are one event.
const dumpSlot = 10 * time.Second

// Dumping says that a node's machine sends kdump messages from this address. The ID is that
// of the slot of time in which the last message came.
func (s Source) Dumping(node, nodeUID, from string, first, last time.Time, count int64) event.Event {
	id := fmt.Sprintf("%s.dumping.%d", nodeUID, last.Truncate(dumpSlot).Unix())
	return s.event(id, NodeDumping, node, last, Payload{
		Node: node, NodeUID: nodeUID, Reason: "Kdump", Message: "kdump messages from " + from,
		Component: "kdump", Count: count,
		First: first.UTC().Format(time.RFC3339Nano), Last: last.UTC().Format(time.RFC3339Nano),
	})
}

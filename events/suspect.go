package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Suspect says that a node's Lease stands still at this mark, since the time at which the
// source saw it last move. The ID is that of the mark, so that sending it again is the same
// event; a resync makes it a new event.
func (s Source) Suspect(node, nodeUID, mark string, since, resync, now time.Time) event.Event {
	id := fmt.Sprintf("%s.suspect.%s", nodeUID, mark)
	if !resync.IsZero() {
		id += fmt.Sprintf(".r%d", resync.UnixMicro())
	}
	return s.event(id, NodeSuspect, node, now, Payload{
		Node: node, NodeUID: nodeUID, Reason: "LeaseStandsStill", Since: since.UTC().Format(time.RFC3339Nano),
	})
}

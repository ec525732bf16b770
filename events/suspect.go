package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Suspect says that a node's Lease stands still at this mark, since then as the
// source has seen it. The ID is that of the mark, so that saying it again is the
// same event; a resync makes it a new one.
func (s Source) Suspect(node, nodeUID, mark string, since, resync, now time.Time) event.Event {
	id := fmt.Sprintf("%s.suspect.%s", nodeUID, mark)
	if !resync.IsZero() {
		id += fmt.Sprintf(".r%d", resync.UnixMicro())
	}
	return s.event(id, NodeSuspect, node, now, Payload{
		Node: node, NodeUID: nodeUID, Reason: "LeaseStandsStill", Since: since.UTC().Format(time.RFC3339Nano),
	})
}

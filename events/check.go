package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// checkWithin is how long after its time a check is worth carrying out.
const checkWithin = 20 * time.Second

// Check says that a node has a turn to have its device read, which is over at
// until. The ID is that of the turn.
func (s Source) Check(node, nodeUID string, due, until, now time.Time) event.Event {
	id := fmt.Sprintf("%s.check.%d", nodeUID, until.UnixMicro())
	e := s.event(id, NodeCheck, node, now, Payload{Node: node, NodeUID: nodeUID, Due: due.UTC().Format(time.RFC3339Nano)})
	e.SetExtension(ExpiryTime, due.Add(checkWithin).UTC())
	return e
}

package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// checkWithin is how long after its time a check may be carried out, and how long before
// the end of its turn it may no longer be started.
const checkWithin = 20 * time.Second

// Check says that a node has a turn to have its device read, which ends at until. The ID is
// that of the turn.
func (s Source) Check(node, nodeUID string, due, until, now time.Time) event.Event {
	id := fmt.Sprintf("%s.check.%d", nodeUID, until.UnixMicro())
	e := s.event(id, NodeCheck, node, now, Payload{Node: node, NodeUID: nodeUID, Due: due.UTC().Format(time.RFC3339Nano)})
	e.SetExtension(ExpiryTime, due.Add(checkWithin).UTC())
	return e
}

// CheckCredentials says that devices of a node's fence have refused the account too often, and that
// what the account is read from may have been written since.
func (s Source) CheckCredentials(node, fenceUID string, now time.Time) event.Event {
	id := fmt.Sprintf("%s.credentials.%d", fenceUID, now.UnixMicro())
	e := s.event(id, NodeCheck, node, now, Payload{Node: node, NodeUID: fenceUID, Due: now.UTC().Format(time.RFC3339Nano), Reason: credentials})
	e.SetExtension(ExpiryTime, now.Add(checkWithin).UTC())
	return e
}

// credentials is the payload's reason of a check that is about what an account is read from.
const credentials = "Credentials"

// ChecksCredentials tells whether an event is one of CheckCredentials. It is a hint, as every event
// is.
func ChecksCredentials(e event.Event) bool {
	var body Payload
	return e.Type() == NodeCheck && e.DataAs(&body) == nil && body.Reason == credentials
}

// CheckIsolation passes a turn, which ends at until, on to the function that calls the
// devices for storage and network. The ID is that of the turn.
func (s Source) CheckIsolation(node, nodeUID string, until, now time.Time, check event.Event) event.Event {
	id := fmt.Sprintf("%s.checkisolation.%d", nodeUID, until.UnixMicro())
	e := s.event(id, NodeCheckIsolation, node, now, Payload{Node: node, NodeUID: nodeUID, Due: now.UTC().Format(time.RFC3339Nano)})
	e.SetExtension(ExpiryTime, until.Add(-checkWithin).UTC())
	CausedBy(&e, check)
	return e
}

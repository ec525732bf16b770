// Package facts has the questions that rules ask about one fence.
//
// A question changes nothing. So no function here writes the record, what was seen, or
// anything else that it was given: test/layout holds the whole package to that. What follows
// from an answer stands in package fence.
package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Facts is all that is known of one fence at one time.
type Facts struct {
	// Requests are people's requests about this fence.
	Requests api.Requests
	// Decision is what the gate decided, as it counts for this fence.
	Decision *api.Decision
	// UID is the NodeFence's.
	UID string
	// Node is the name of the node.
	Node string
	// Record is the status of the NodeFence, as the rules that were asked so far have left it.
	Record *api.NodeFenceStatus
	// Seen is what was seen outside of the record.
	Seen observed.Look
	// Now is the API server's time.
	Now time.Time
	// CallDevice is the device of the isolation that this invocation's call was for.
	CallDevice string
	// Refused: the device said no to the Off that this invocation sent.
	Refused bool
	// Lost: nobody reported the end of a call to the machine's own device.
	Lost bool
	// CallEnd is the end of this invocation's call to the machine's own device, if it
	// counts: its claim stood still.
	CallEnd *observed.CallResult
}

package report

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// Reporter hears of every decision: logs, metrics, Kubernetes Events.
type Reporter interface {
	Decided(ctx context.Context, d Decision)
	// Refused hears of events that asked for a fence and open none.
	Refused(ctx context.Context, r Refusal)
	// Merged hears of events that asked for a fence and joined the one that is open.
	Merged(ctx context.Context, r Refusal)
	// Alerted hears of a node's problem that its policy only wants told.
	Alerted(ctx context.Context, r Refusal, problem string)
	// Lost hears of events that the broker gave up.
	Lost(ctx context.Context, l Loss)
	// Checked hears of every look at a node's device while nothing has failed.
	Checked(ctx context.Context, c Check)
	// Ignored hears of events that were acknowledged and not looked at.
	Ignored(ctx context.Context, function string, e event.Event, why string)
}

// Decision is one turn of the loop.
type Decision struct {
	Function string
	Cause    event.Event
	Before   api.NodeFenceStatus
	Fence    *api.NodeFence
	Action   fence.Action
	// Err is why the action could not be carried out.
	Err error
}

// Refusal is an event that asked for a fence and opens none, because it gets none or
// joins the one that is open.
type Refusal struct {
	Function string
	Cause    event.Event
	Node     string
	// NodeUID is empty where there is no such node.
	NodeUID types.UID
	Reason  api.Reason
	Message string
}

// Check is one look at a node's device while nothing has failed.
type Check struct {
	Function string
	Cause    event.Event
	// Before is the FenceTarget as it was, Target as it is now.
	Before, Target *api.FenceTarget
}

// Loss is an event that the broker gave up, or that no function takes.
type Loss struct {
	Function string
	Event    event.Event
	// Unknown: its type is misspelt. Nobody gave it up; Message says what was meant.
	Unknown bool
	// Dest is where it was going; Message why it did not arrive.
	Dest, Message string
	// Node that it is about, and that node's record, if there are any.
	Node  string
	Fence *api.NodeFence
}

package report

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// Reporter is told of every decision, for logs, metrics and Kubernetes Events.
type Reporter interface {
	Decided(ctx context.Context, d Decision)
	// Refused is called for an event that asked for a fence and opens none.
	Refused(ctx context.Context, r Refusal)
	// Merged is called for an event that asked for a fence and joins the open one.
	Merged(ctx context.Context, r Refusal)
	// Remediated is called for a change of a FenceRequest's conditions.
	Remediated(ctx context.Context, r Remediation)
	// Alerted is called for a problem of a node that its policy only wants reported.
	Alerted(ctx context.Context, r Refusal, problem string)
	// Unsaved is called when the record of a fence can't be written.
	Unsaved(ctx context.Context, u Unsaved)
	// Lost is called for an event that the broker gave up.
	Lost(ctx context.Context, l Loss)
	// Checked is called for every look at a node's device while nothing has failed.
	Checked(ctx context.Context, c Check)
	// Ignored is called for an event that was acknowledged and not looked at.
	Ignored(ctx context.Context, function string, e event.Event, why string)
}

// Decision is one round of the loop.
type Decision struct {
	Function string
	Cause    event.Event
	Before   api.NodeFenceStatus
	Fence    *api.NodeFence
	Action   fence.Action
	// Err is why the action could not be carried out.
	Err error
}

// Unsaved is a record that can't be written, so that the record itself can't say why.
type Unsaved struct {
	Function string
	Cause    event.Event
	// NodeUID is empty where there is no such node.
	Node    string
	NodeUID types.UID
	Err     error
}

// Refusal is an event that asked for a fence and opens none, because it was refused or
// joins the open fence.
type Refusal struct {
	Function string
	Cause    event.Event
	Node     string
	// NodeUID is empty where there is no such node.
	NodeUID types.UID
	Reason  api.Reason
	Message string
}

// Remediation is a change of a FenceRequest's conditions that was written.
type Remediation struct {
	Function string
	// Before is its status before that, and Request the object after it.
	Before  api.FenceRequestStatus
	Request *api.FenceRequest
}

// Check is one look at a node's device while nothing has failed.
type Check struct {
	Function string
	Cause    event.Event
	// Before is the FenceTarget before the check, Target after it.
	Before, Target *api.FenceTarget
}

// Loss is an event that the broker gave up, or that no function takes.
type Loss struct {
	Function string
	Event    event.Event
	// Unknown: its type is misspelled. No broker gave it up; Message names the type that
	// was meant.
	Unknown bool
	// Dest is where it was going; Message says why it did not arrive.
	Dest, Message string
	// Node is the node that it is about, and Fence is that node's record, if they exist.
	Node  string
	Fence *api.NodeFence
}

package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Extension attributes.
const (
	PartitionKey  = "partitionkey"
	CorrelationID = "correlationid"
	CausationID   = "causationid"
	ExpiryTime    = "expirytime"
	TraceParent   = "traceparent"
	// Attributes that filters may use, besides type and subject.
	ReasonAttr    = "reason"
	ConditionAttr = "condition"
	ComponentAttr = "component"
	// FenceNumberAttr tells the fences of one node apart.
	FenceNumberAttr = "fencenumber"
)

// Source builds events in the name of one cluster.
type Source string

// SourceOf returns the event source for a cluster's name.
func SourceOf(cluster string) Source { return Source("/nodefence/" + cluster) }

// Condition says that a node's condition changed to a status. Without a condition, it says
// that something else is wrong, which its reason names. Whether it is unhealthy follows the
// condition's own meaning. The ID is that of the transition, so that sending it again is
// the same event; resync > 0 makes it a new event.
func (s Source) Condition(c ConditionChange, resync time.Time, now time.Time) event.Event {
	typ := NodeHealthy
	if c.Unhealthy {
		typ = NodeUnhealthy
	}
	whose := c.NodeUID
	if whose == "" {
		whose = c.Node // for a missing Node object
	}
	id := fmt.Sprintf("%s.%s.%s.%d", whose, c.Condition, c.Status, c.Since.UnixMicro())
	if c.Condition == "" {
		id = fmt.Sprintf("%s.%s.%d", whose, c.Reason, c.Since.UnixMicro())
	}
	if !resync.IsZero() {
		id += fmt.Sprintf(".r%d", resync.UnixMicro())
	}
	e := s.event(id, typ, c.Node, now, Payload{
		Node: c.Node, NodeUID: c.NodeUID, Condition: c.Condition, Status: c.Status,
		Reason: c.Reason, Since: c.Since.UTC().Format(time.RFC3339Nano),
	})
	if c.Condition != "" {
		e.SetExtension(ConditionAttr, c.Condition)
	}
	return e
}

// ConditionChange is one transition of one condition of one node, or another fault of the
// node.
type ConditionChange struct {
	Node, NodeUID     string
	Condition, Status string
	Reason            string
	Since             time.Time
	Unhealthy         bool
}

// Phase says that the fence is in its present phase. The ID has the fence's number, its
// phase, the count of transitions and the due time: for the same state the event is the
// same, and another due time makes another event.
func (s Source) Phase(f *api.NodeFence, due, now time.Time) event.Event {
	p := f.CurrentPhase()
	id := fmt.Sprintf("%s.%d.%s.%d.%d", f.UID, f.Status.FenceNumber, p, f.Status.Transitions, due.UnixMicro())
	e := s.event(id, OfPhase(p), f.Spec.NodeName, now, Payload{
		Node: f.Spec.NodeName, NodeUID: string(f.Status.Decision.NodeUID), Fence: string(f.UID), FenceNumber: f.Status.FenceNumber,
		Phase: string(p), Reason: string(f.Status.Reason), Message: f.Status.Message,
		Due: due.UTC().Format(time.RFC3339Nano),
	})
	e.SetExtension(CorrelationID, string(f.UID))
	e.SetExtension(FenceNumberAttr, f.Status.FenceNumber)
	if f.Status.Reason != "" {
		e.SetExtension(ReasonAttr, string(f.Status.Reason))
	}
	if p == api.Probing || p == api.Isolating || p == api.Fencing {
		// After this time the decision behind the event is stale, and a resync has sent a
		// new event (S17: the reason must still hold).
		e.SetExtension(ExpiryTime, now.Add(DecisionValidity+api.LongerCalls(f.Status.Decision.CallLimit())).UTC())
	}
	return e
}

// DecisionValidity is how long a wake-up for a first device call may be carried out, in a fence
// whose calls take no longer than usual.
const DecisionValidity = 60 * time.Second

// Marked says that the node has nodefence's taint without an open record.
func (s Source) Marked(node, nodeUID, taintValue string, resync, now time.Time) event.Event {
	id := fmt.Sprintf("%s.marked.%s.r%d", nodeUID, taintValue, resync.UnixMicro())
	return s.event(id, NodeMarked, node, now, Payload{Node: node, NodeUID: nodeUID, Fence: taintValue})
}

// CausedBy notes which event led to this one, and continues its trace.
func CausedBy(e *event.Event, cause event.Event) {
	if id := cause.ID(); id != "" {
		e.SetExtension(CausationID, id)
	}
	if tp, ok := cause.Extensions()[TraceParent]; ok {
		e.SetExtension(TraceParent, tp)
	}
}

// HandsOn reports whether a function sent this event, for the next step of a fence that it
// has worked on. The source's wake-ups have no cause.
func HandsOn(e event.Event) bool {
	_, phase := PhaseOf(e.Type())
	return (phase || e.Type() == FenceReported) && e.Extensions()[CausationID] != nil
}

func (s Source) event(id, typ, node string, now time.Time, p any) event.Event {
	e := event.New(event.CloudEventsVersionV1)
	e.SetID(id)
	e.SetType(typ)
	e.SetSource(string(s))
	e.SetSubject(node)
	e.SetTime(now.UTC())
	e.SetDataSchema(SchemaID(typ))
	e.SetExtension(PartitionKey, node)
	// The payload has strings, numbers and times, which always encode.
	_ = e.SetData(event.ApplicationJSON, p)
	return e
}

// SchemaID is the URI that names a type's JSON Schema.
func SchemaID(typ string) string { return "https://nodefence.io/schemas/" + typ + ".json" }

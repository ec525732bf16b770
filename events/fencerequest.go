package events

import (
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// FenceRequestChanged says that a FenceRequest is to be looked at. The ID has what changed, such as
// the object's generation or where its node's fence stands, so that each change, and each look of a
// resync, is another event: no wake-up is taken for a duplicate (S19).
func (s Source) FenceRequestChanged(node string, r ObjectReference, what string, now time.Time) event.Event {
	return s.event(r.UID+"."+what, FenceRequestChanged, node, now, Payload{Node: node, Namespace: r.Namespace, Name: r.Name, UID: r.UID})
}

// ReadFenceRequestChanged reads which FenceRequest an event is about.
func ReadFenceRequestChanged(e event.Event) (ObjectReference, error) {
	var p Payload
	if err := e.DataAs(&p); err != nil {
		return ObjectReference{}, fmt.Errorf("data of %s: %w", e.Type(), err)
	}
	if p.Namespace == "" || p.Name == "" || p.UID == "" {
		return ObjectReference{}, fmt.Errorf("data of %s: want namespace, name and uid of a FenceRequest", e.Type())
	}
	return ObjectReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, nil
}

// RequestByObject asks the gate for the fence that a FenceRequest is about. The gate serves each
// object once, by its UID, whatever the event says (S7). The slot makes a later try another event,
// because a broker that drops duplicates might have lost the first (S19).
func RequestByObject(node, source string, r ObjectReference, made, slot time.Time) event.Event {
	e := event.New(event.CloudEventsVersionV1)
	e.SetID(fmt.Sprintf("%s.r%d", r.UID, slot.UnixMicro()))
	e.SetType(RequestFence)
	e.SetSource(source)
	e.SetSubject(node)
	e.SetTime(made.UTC())
	e.SetDataSchema(SchemaID(RequestFence))
	e.SetExtension(PartitionKey, node)
	_ = e.SetData(event.ApplicationJSON, Request{FenceRequest: &r}) // plain strings always encode
	return e
}

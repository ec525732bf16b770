package events

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Act is the body of an event about what a person did: what the FenceAct says. No function decides by it.
type Act struct {
	// Act is the name of the FenceAct.
	Act string `json:"act"`
	// Field is the brake or the word, From and To what stood there before and stands there since.
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Kind, Name and UID are those of the object that was changed.
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
	// At is when the person acted (RFC 3339). Seen: when that was seen. MadeBefore: it was made before that, while no
	// source ran.
	At         string `json:"at"`
	Seen       bool   `json:"seen,omitempty"`
	MadeBefore bool   `json:"madeBefore,omitempty"`
	// By is the authenticated user; empty where the way to act gave no name. Manager is the field manager then.
	By      string `json:"by,omitempty"`
	Manager string `json:"manager,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// FenceNumber is the fence of the node that the act is about.
	FenceNumber int64 `json:"fenceNumber,omitempty"`
}

// Act says what a person did. The subject is the object that was changed: of a NodeFence it is the node. The ID is the
// name of the record, so that sending it again is the same event.
func (s Source) Act(a *api.FenceAct, now time.Time) event.Event {
	is := &a.Spec
	e := s.event(a.Name, PersonActed, is.Object.Name, now, Payload{})
	// The body is a flat struct of strings, numbers and bools, which always encodes.
	_ = e.SetData(event.ApplicationJSON, Act{
		Act: a.Name, Field: string(is.Field), From: is.From, To: is.To, Kind: is.Object.Kind, Name: is.Object.Name, UID: string(is.Object.UID),
		At: is.At.UTC().Format(time.RFC3339Nano), Seen: is.Seen, MadeBefore: is.MadeBefore, By: is.By, Manager: is.Manager, Reason: is.Reason,
		FenceNumber: is.FenceNumber,
	})
	return e
}

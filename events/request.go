package events

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// RequestFence asks for the fence of its subject. A user's own event types may ask too, if
// a policy lists them.
const RequestFence = requestPrefix + "fence" + version

const (
	ownPrefix     = "io.nodefence."
	requestPrefix = ownPrefix + "request."
)

// Request is the body of an event that asks for a fence. All of its fields are optional. It
// names no action, because the policy names it; so no request is stronger than another (S7:
// a second request joins the open fence).
type Request struct {
	// Node is for an event without a subject.
	Node string `json:"node,omitempty"`
	// Reason, in words, is written into the record.
	Reason string `json:"reason,omitempty"`
	// Token belongs to the Kubernetes user or service account that asks. It is issued for
	// the Audience of this one event.
	Token string `json:"token,omitempty"`
	// Drain is Skip to have the node not drained; empty or IfReady for what its policy says.
	Drain string `json:"drain,omitempty"`
	// FenceRequest names the object that asks. The gate reads it, and believes only what it reads.
	FenceRequest *ObjectReference `json:"fenceRequest,omitempty"`
}

// ObjectReference names one FenceRequest.
type ObjectReference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Asks reports whether an event may ask for a fence: it has nodefence's own type for
// requests, or a type that is neither nodefence's nor Knative's. The policy decides whether
// it counts.
func Asks(eventType string) bool {
	return eventType == RequestFence ||
		eventType != "" && !strings.HasPrefix(eventType, ownPrefix) && !strings.HasPrefix(eventType, knativePrefix)
}

// AsksOnce reports whether an event may ask for a fence and nobody repeats it if it is lost. For a
// FenceRequest the function request asks again.
func AsksOnce(e event.Event) bool {
	if e.Type() != RequestFence {
		return Asks(e.Type())
	}
	r, _ := ReadRequest(e) // what can't be read names no FenceRequest
	return r.FenceRequest == nil
}

// IsHint reports whether an event is from Knative's ApiServerSource. Such an event about a
// Node is a reason to look at the Node, and nothing more.
func IsHint(eventType string) bool { return strings.HasPrefix(eventType, apiServerPrefix) }

// AboutNode reports whether a hint is about a Node.
func AboutNode(e event.Event) bool { return strings.HasPrefix(e.Subject(), nodesPath) }

const (
	knativePrefix   = "dev.knative."
	apiServerPrefix = knativePrefix + "apiserver."
	// nodesPath is the prefix of the subject of the ApiServerSource's events about Nodes.
	nodesPath = "/api/v1/nodes/"
)

// Audience is the audience for which a token must be issued, so that it is valid for this
// event only.
func Audience(node, id string) string { return RequestFence + "/" + node + "/" + id }

// ReadRequest reads the body. A user's own type may carry any data: data that is not a
// request's body is ignored there.
func ReadRequest(e event.Event) (Request, error) {
	var r Request
	if len(e.Data()) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		if e.Type() != RequestFence {
			return Request{}, nil
		}
		return r, fmt.Errorf("data: want a JSON object with node, reason, drain and token, or fenceRequest, all optional: %w", err)
	}
	switch {
	case e.Type() != RequestFence:
		r.Drain = "" // it may mean something else there
	case r.Drain != "" && r.Drain != string(api.DrainIfReady) && r.Drain != string(api.DrainSkip):
		return r, fmt.Errorf("data.drain: %.80q, write %s or %s, or leave it out", r.Drain, api.DrainIfReady, api.DrainSkip)
	}
	return r, nil
}

// redacted replaces a token, or data that may contain one.
const redacted = "[redacted]"

// HasToken reports whether an event has a token that must not be kept (S29: no secret is
// shown). Data that can't be read may contain one, if nodefence does not send the type.
func HasToken(e event.Event) bool {
	_, found := withoutToken(e)
	return found
}

// Redacted returns the event without its token, to be kept or shown (S29).
func Redacted(e event.Event) event.Event {
	data, found := withoutToken(e)
	if !found {
		return e
	}
	e = e.Clone()
	_ = e.SetData(event.ApplicationJSON, data)
	return e
}

// withoutToken returns the data of an event without its token. If the data is no JSON
// object, nothing of it is kept, because the place of the token is unknown.
func withoutToken(e event.Event) (data any, found bool) {
	if len(e.Data()) == 0 || Known(e.Type()) || strings.HasPrefix(e.Type(), knativePrefix) {
		return nil, false
	}
	var all map[string]any
	if err := json.Unmarshal(e.Data(), &all); err != nil {
		return map[string]string{"redacted": "the data was not a JSON object"}, true
	}
	return all, without(all)
}

// without removes every member named token from JSON, at any depth, and reports whether
// there was any.
func without(v any) (found bool) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			found = without(x) || found
		}
	case map[string]any:
		for k, x := range v {
			switch {
			case !strings.EqualFold(k, "token"):
				found = without(x) || found
			case x != "" && x != redacted:
				v[k], found = redacted, true
			}
		}
	}
	return found
}

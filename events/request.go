package events

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// RequestFence asks for the fence of its subject. Types of a user's own may ask
// too, where a policy lists them.
const RequestFence = requestPrefix + "fence" + version

const (
	ownPrefix     = "io.nodefence."
	requestPrefix = ownPrefix + "request."
)

// Request is the body of an event that asks for a fence. All of it is optional. It names
// no action: that is the policy's, so that of two requests none is stronger (S7).
type Request struct {
	// Node, where the event has no subject.
	Node string `json:"node,omitempty"`
	// Reason, in words, goes into the record.
	Reason string `json:"reason,omitempty"`
	// Token is of the Kubernetes user or service account that asks, issued for
	// the Audience of this one event.
	Token string `json:"token,omitempty"`
}

// Asks tells whether an event may be one that asks for a fence: nodefence's own
// type for it, or any type that is neither nodefence's nor Knative's. What it is
// worth is for the policy to say.
func Asks(eventType string) bool {
	return eventType == RequestFence ||
		eventType != "" && !strings.HasPrefix(eventType, ownPrefix) && !strings.HasPrefix(eventType, knativePrefix)
}

// IsHint tells whether an event is of Knative's ApiServerSource. One about a
// Node is a reason to look at it, no more.
func IsHint(eventType string) bool { return strings.HasPrefix(eventType, apiServerPrefix) }

// AboutNode tells whether a hint is about a Node.
func AboutNode(e event.Event) bool { return strings.HasPrefix(e.Subject(), nodesPath) }

const (
	knativePrefix   = "dev.knative."
	apiServerPrefix = knativePrefix + "apiserver."
	// nodesPath begins the subject of the ApiServerSource's events about Nodes.
	nodesPath = "/api/v1/nodes/"
)

// Audience is what a token must be issued for to ask by this event, and by no other.
func Audience(node, id string) string { return RequestFence + "/" + node + "/" + id }

// ReadRequest reads the body. A type of a user's own may carry anything: what is
// not a request's body there says nothing.
func ReadRequest(e event.Event) (Request, error) {
	var r Request
	if len(e.Data()) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(e.Data(), &r); err != nil {
		if e.Type() != RequestFence {
			return Request{}, nil
		}
		return r, fmt.Errorf("data: want a JSON object with node, reason and token, all optional: %w", err)
	}
	return r, nil
}

// redacted stands where a token was, or may have been.
const redacted = "[redacted]"

// HasToken tells whether an event carries a token that must not be kept (S29), or data
// that can't be read, of a type that nodefence does not send: there may be one in it.
func HasToken(e event.Event) bool {
	_, found := withoutToken(e)
	return found
}

// Redacted is the event without its token, for whatever is kept or shown (S29).
func Redacted(e event.Event) event.Event {
	data, found := withoutToken(e)
	if !found {
		return e
	}
	e = e.Clone()
	_ = e.SetData(event.ApplicationJSON, data)
	return e
}

// withoutToken is the data of an event whose token was taken out. Of data that is no
// JSON object nothing is left, because where its token stands can't be told.
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

// without takes what is called token out of JSON, however deep, and tells whether there
// was any.
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

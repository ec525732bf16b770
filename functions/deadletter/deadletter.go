package deadletter

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
)

// Name is the function's name.
const Name = "deadletter"

// The attributes in which Knative says where an event was going, and with which HTTP status
// and answer it failed (Knative Eventing, event delivery). Knative writes the answer in base64;
// nodefence-local and AWS write it as it is.
const (
	ErrorDest = "knativeerrordest"
	ErrorCode = "knativeerrorcode"
	ErrorData = "knativeerrordata"
)

// Reporter is the function.
type Reporter struct {
	// Fence reads the record of a node; nil if there is none.
	Fence func(ctx context.Context, node string) (*api.NodeFence, error)
	// Lost reports that the event was given up.
	Lost func(ctx context.Context, l report.Loss)
}

// Handle handles one event that was given up, or whose type no function takes. A record that
// is missing, or cannot be read now, is no error: a dead letter has nowhere else to go, and not
// every broker brings it again.
func (r *Reporter) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	l := report.Loss{Function: Name, Event: e, Dest: text(e, ErrorDest), Message: message(e)}
	if l.Dest == "" && l.Message == noReason && !slices.Contains(events.OwnTypes(), e.Type()) && strings.HasPrefix(e.Type(), events.NearPrefix) {
		if l.Message = events.DidYouMean(e.Type()); l.Message == "" {
			return nil, nil // another program's event, with a similar type
		}
		l.Unknown = true
	}
	if node, err := events.Node(e); err == nil {
		l.Node = node
		if f, err := r.Fence(ctx, node); err == nil {
			l.Fence = f
		}
	}
	r.Lost(ctx, l)
	return nil, nil
}

// noReason is used if no broker says why: either the broker does not say, or no broker has
// given the event up.
const noReason = "no reason given"

// longest is what is said of an answer, in bytes: its body may be anything.
const longest = 200

// message is the broker's description of the failure.
func message(e event.Event) string {
	code, data := text(e, ErrorCode), plain(text(e, ErrorData))
	switch {
	case code != "" && data != "":
		return code + " " + data
	case code != "":
		return "HTTP status " + code
	case data != "":
		return data
	}
	return noReason
}

func text(e event.Event, attribute string) string {
	s, err := cetypes.Format(e.Extensions()[attribute])
	if err != nil {
		return ""
	}
	return s
}

// plain is an answer as it was, cut short. What is no base64 of a text is none.
func plain(answer string) string {
	raw, err := base64.StdEncoding.Strict().DecodeString(answer)
	if err != nil {
		return clip.To(longest, answer)
	}
	said := strings.TrimSpace(clip.To(longest, string(raw)))
	for _, r := range said {
		if r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return clip.To(longest, answer)
		}
	}
	return said
}

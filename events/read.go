package events

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Node is the node that an event is about: its subject, or for a request without
// one, as tools send it that can't set a subject, its data's node. The error names
// the attribute that is wrong.
func Node(e event.Event) (string, error) {
	n := e.Subject()
	if IsHint(e.Type()) {
		n = strings.TrimPrefix(n, nodesPath)
	}
	if Asks(e.Type()) {
		r, err := ReadRequest(e)
		switch {
		case err != nil:
			return "", err
		case n == "":
			n = r.Node
		case r.Node != "" && r.Node != n:
			return "", fmt.Errorf("attribute subject: %.80q, and data.node is %.80q: they must name one node", n, r.Node)
		}
	}
	if n == "" {
		return "", fmt.Errorf("attribute subject: missing, it must name the node")
	}
	// Of anything else the client would make another path: "." and ".." are a list.
	if len(validation.IsDNS1123Subdomain(n)) > 0 {
		return "", fmt.Errorf("attribute subject: %.80q is not a node's name", n)
	}
	return n, nil
}

// Own tells whether an attribute is one of CloudEvents' own or one that nodefence
// sets: nobody else may give it a value.
func Own(attribute string) bool {
	switch attribute {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "database64",
		PartitionKey, CorrelationID, CausationID, ExpiryTime, TraceParent, "tracestate", ReasonAttr, ConditionAttr, ComponentAttr, FenceNumberAttr:
		return true
	}
	return false
}

// Printable is a text without what an attribute can't hold: control characters.
// They become blanks.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
}

// Expired tells whether the event says of itself that it must not be carried
// out any more. An expirytime that can't be read counts as expired.
func Expired(e event.Event, now time.Time) bool {
	v, ok := e.Extensions()[ExpiryTime]
	if !ok {
		return false
	}
	t, err := cetypes.ToTime(v)
	return err != nil || now.After(t)
}

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

// Node returns the node that an event is about: its subject. A tool that can't set a
// subject may send a request without one; then it is the node in the data. The error names
// the wrong attribute.
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
	// Any other name would make the client use another path: "." and ".." are a list.
	if len(validation.IsDNS1123Subdomain(n)) > 0 {
		return "", fmt.Errorf("attribute subject: %.80q is not a node's name", n)
	}
	return n, nil
}

// Own reports whether an attribute is one of CloudEvents' own, or one that nodefence sets.
// Nobody else may set it.
func Own(attribute string) bool {
	switch attribute {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "database64",
		PartitionKey, CorrelationID, CausationID, ExpiryTime, TraceParent, "tracestate", ReasonAttr, ConditionAttr, ComponentAttr, FenceNumberAttr:
		return true
	}
	return false
}

// Printable replaces control characters, which an attribute can't hold, by blanks.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
}

// Expired reports whether the event must not be carried out any more, by its own
// expirytime. An expirytime that can't be read counts as expired.
func Expired(e event.Event, now time.Time) bool {
	v, ok := e.Extensions()[ExpiryTime]
	if !ok {
		return false
	}
	t, err := cetypes.ToTime(v)
	return err != nil || now.After(t)
}

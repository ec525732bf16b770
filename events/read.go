package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
)

// Node is the node that an event is about: its subject. The error names the
// attribute that is wrong.
func Node(e event.Event) (string, error) {
	n := e.Subject()
	if n == "" {
		return "", fmt.Errorf("attribute subject: missing, it must name the node")
	}
	if len(n) > 253 || strings.ContainsAny(n, "/ \t\r\n") {
		return "", fmt.Errorf("attribute subject: %.80q is not a node's name", n)
	}
	return n, nil
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

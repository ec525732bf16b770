package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/spelling"
)

// Accept refuses an event that no function could use, when it arrives: an event whose type
// is almost one of nodefence's, an event about no node, or a request without its time.
// Later nobody waits for an answer, and no Trigger takes a misspelled type. The error names
// the wrong attribute.
func Accept(e event.Event) error {
	if e.Type() == Ping || e.Type() == Scheduled || IsHint(e.Type()) {
		return nil
	}
	if said := DidYouMean(e.Type()); said != "" {
		return fmt.Errorf("attribute type: %s", said)
	}
	if !Known(e.Type()) && !Asks(e.Type()) {
		return nil // Knative's own events are not for us
	}
	if _, err := Node(e); err != nil {
		return err
	}
	if Asks(e.Type()) && e.Time().IsZero() {
		return fmt.Errorf("attribute time: missing, a request must say when it was made")
	}
	return nil
}

// DidYouMean describes a misspelled type in words. It is empty for every other type.
func DidYouMean(eventType string) string {
	meant := Misspelt(eventType)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("nodefence has no type %.80q: did you mean %s?", eventType, meant)
}

// Misspelt returns the type of nodefence's that a type was probably meant to be, if the
// type begins like ours and is none of ours, or is at most two letters away from one. It is
// empty if the type is ours, or somebody else's.
func Misspelt(eventType string) string {
	ours := OwnTypes()
	if slices.Contains(ours, eventType) {
		return ""
	}
	nearest, least := "", 3
	if strings.HasPrefix(strings.ToLower(eventType), ownPrefix) {
		least = len(eventType) + len(RequestFence)
	}
	for _, t := range ours {
		if abs(len(t)-len(eventType)) >= least {
			continue
		}
		if d := spelling.Apart(strings.ToLower(eventType), t); d < least {
			nearest, least = t, d
		}
	}
	if least > 6 && nearest != "" {
		return RequestFence // lists the types that can be sent, if no type is near
	}
	return nearest
}

func abs(n int) int { return max(n, -n) }

package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/spelling"
)

// Accept tells at the door what no function could do anything with: a type that is
// almost one of nodefence's, an event about no node, a request that does not say when
// it was made. Behind the door nobody waits for the answer, and a misspelt type is no
// Trigger's. The error names the attribute that is wrong.
func Accept(e event.Event) error {
	if e.Type() == Ping || e.Type() == Scheduled || IsHint(e.Type()) {
		return nil
	}
	if said := DidYouMean(e.Type()); said != "" {
		return fmt.Errorf("attribute type: %s", said)
	}
	if !Known(e.Type()) && !Asks(e.Type()) {
		return nil // of Knative's own: nobody's here
	}
	if _, err := Node(e); err != nil {
		return err
	}
	if Asks(e.Type()) && e.Time().IsZero() {
		return fmt.Errorf("attribute time: missing, a request must say when it was made")
	}
	return nil
}

// DidYouMean says in words what is wrong with a type that is misspelt, and is empty for
// every other.
func DidYouMean(eventType string) string {
	meant := Misspelt(eventType)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("nodefence has no type %.80q: did you mean %s?", eventType, meant)
}

// Misspelt is the type of nodefence's that a type was probably meant to be: everything
// that begins like ours and is none, or is at most two letters away from one. Empty if
// it is one, or somebody else's.
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
		return RequestFence // what there is to be sent, where no type is near
	}
	return nearest
}

func abs(n int) int { return max(n, -n) }

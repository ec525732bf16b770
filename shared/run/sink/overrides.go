package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
)

// parseOverrides reads a SinkBinding's ceOverrides. Attributes that nodefence itself uses
// for routing or to recognise duplicates can't be overridden: events would go to the wrong
// function, or be lost as duplicates.
func parseOverrides(s string) (map[string]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var o struct {
		Extensions map[string]string `json:"extensions"`
	}
	if err := json.Unmarshal([]byte(s), &o); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) {
			err = fmt.Errorf("the %s at byte %d has no place there", typ.Value, typ.Offset)
		}
		return nil, fmt.Errorf(`it is not {"extensions":{"name":"value"}}: %w`, err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Extensions)) {
		if err := checkOverride(name, o.Extensions[name]); err != nil {
			return nil, err
		}
	}
	return o.Extensions, nil
}

func checkOverride(name, value string) error {
	switch {
	case name == "":
		return errors.New("an extension has no name")
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "":
		return fmt.Errorf("extension %q: a name is lower-case letters and digits", name)
	case events.Own(name):
		return fmt.Errorf("extension %q: nodefence sets this one itself", name)
	case events.Printable(value) != value:
		return fmt.Errorf("extension %q: its value holds control characters", name)
	}
	return nil
}

// overridden works on a copy, because the outbox keeps the event for the next try.
func (h *Sender) overridden(e event.Event) (event.Event, error) {
	if len(h.overrides) == 0 {
		return e, nil
	}
	e = e.Clone()
	for name, value := range h.overrides {
		e.SetExtension(name, value)
	}
	if err := e.Validate(); err != nil {
		return e, fmt.Errorf("apply K_CE_OVERRIDES: %w", err)
	}
	return e, nil
}

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/cloudevents/sdk-go/v2/types"

	"github.com/nodefence/nodefence/shared/clip"
)

var attributeName = regexp.MustCompile(`^[a-z0-9]+$`)

// decode checks the attributes before the SDK reads them. For most faults the SDK only says
// that there is one, and it accepts some silently.
func decode(ctx context.Context, h http.Header, body []byte) (event.Event, error) {
	contentType := h.Get("Content-Type")
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case contentType != "" && err != nil:
		return event.Event{}, fmt.Errorf("content-type %s is not a media type", short(contentType))
	case media == event.ApplicationCloudEventsJSON:
		err = checkStructured(body)
	case strings.HasPrefix(media, "application/cloudevents"):
		err = fmt.Errorf("content-type %s not accepted: send one event, binary or %s",
			short(media), event.ApplicationCloudEventsJSON)
	default:
		err = checkBinary(h)
	}
	if err != nil {
		return event.Event{}, err
	}
	m := cehttp.NewMessage(h, io.NopCloser(bytes.NewReader(body)))
	e, err := binding.ToEvent(ctx, m)
	if err != nil {
		return event.Event{}, fmt.Errorf("decode event: %w", err)
	}
	return *e, valid(*e)
}

// Structured reads one event in structured JSON mode, for transports without HTTP headers.
// The error names the wrong attribute.
func Structured(ctx context.Context, body []byte) (event.Event, error) {
	return decode(ctx, http.Header{"Content-Type": {event.ApplicationCloudEventsJSON}}, body)
}

// valid is the SDK's own check, with its findings in a fixed order on one line.
func valid(e event.Event) error {
	err := e.Validate()
	var found event.ValidationError
	if !errors.As(err, &found) {
		return err
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, fmt.Sprintf("%s: %v", name, found[name]))
	}
	return errors.New(strings.Join(all, "; "))
}

func checkBinary(h http.Header) error {
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(h)) {
		name, ok := strings.CutPrefix(strings.ToLower(key), "ce-")
		if !ok {
			continue
		}
		if len(h[key]) > 1 {
			return fmt.Errorf("ce-%s given %d times", name, len(h[key]))
		}
		// The first two have another place in binary mode. As headers they would be read as
		// extensions, and hide the real values.
		if name == "datacontenttype" || name == "data" || !attributeName.MatchString(name) {
			return fmt.Errorf("ce-%s is not an attribute", name)
		}
		values[name] = h[key][0]
	}
	return checkAttributes("ce-", values)
}

func checkStructured(body []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return errors.New("body is not a JSON object")
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "data" || name == "data_base64" {
			continue
		}
		if !attributeName.MatchString(name) {
			return fmt.Errorf("%s is not an attribute", short(name))
		}
		var value any
		if err := json.Unmarshal(members[name], &value); err != nil {
			return fmt.Errorf("%s is not JSON", name)
		}
		text, isText := value.(string)
		if !isText && (slices.Contains(textual, name) || !scalar(value)) {
			return fmt.Errorf("%s has a value of the wrong type", name)
		}
		if isText {
			values[name] = text
		}
	}
	if members["data"] != nil && members["data_base64"] != nil {
		return errors.New("data and data_base64 exclude each other")
	}
	return checkAttributes("", values)
}

// scalar lists the JSON types that an extension may have.
func scalar(v any) bool {
	switch v.(type) {
	case string, bool, float64:
		return true
	}
	return false
}

// textual are the attributes that the specification defines.
var textual = []string{"specversion", "id", "source", "type", "subject", "time", "dataschema", "datacontenttype"}

func checkAttributes(prefix string, values map[string]string) error {
	for _, name := range textual {
		value, given := values[name]
		required := name == "specversion" || name == "id" || name == "source" || name == "type"
		switch {
		case !given && required:
			return fmt.Errorf("%s%s missing", prefix, name)
		case given && strings.TrimSpace(value) == "":
			return fmt.Errorf("%s%s empty", prefix, name)
		case !given:
			continue
		}
		if err := checkValue(name, value); err != nil {
			return fmt.Errorf("%s%s %s %w", prefix, name, short(value), err)
		}
	}
	return nil
}

func checkValue(name, value string) error {
	switch name {
	case "specversion":
		if value != event.CloudEventsVersionV1 {
			return errors.New("not accepted: want 1.0")
		}
	case "source":
		if types.ParseURIRef(value) == nil {
			return errors.New("is not a URI reference")
		}
	case "dataschema":
		if u := types.ParseURI(value); u == nil || !u.Validate() {
			return errors.New("is not an absolute URI")
		}
	case "time":
		if _, err := types.ParseTime(value); err != nil {
			return errors.New("is not an RFC 3339 time")
		}
	}
	return nil
}

// short quotes a part of a sender's text for an error line.
func short(s string) string { return strconv.Quote(clip.To(64, s)) }

package redfish

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// refusal is an answer that is no success.
type refusal struct {
	kind   error
	status int
	text   string
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.text }
func (r *refusal) Unwrap() error { return r.kind }

// kinds are the errors for statuses. Any other status means that the BMC refuses to do it
// now, or from 500 on that the BMC is broken.
var kinds = map[int]error{
	http.StatusUnauthorized:         device.ErrDenied,
	http.StatusForbidden:            device.ErrDenied,
	http.StatusNotFound:             device.ErrUnknown,
	http.StatusGone:                 device.ErrUnknown,
	http.StatusMethodNotAllowed:     device.ErrUnsupported,
	http.StatusNotImplemented:       device.ErrUnsupported,
	http.StatusRequestTimeout:       device.ErrUnreachable,
	http.StatusTooManyRequests:      device.ErrUnreachable,
	http.StatusNotAcceptable:        device.ErrUnsupported,
	http.StatusUnsupportedMediaType: device.ErrUnsupported,
}

// unable are the message IDs, without registry and version, with which a 400 is a refusal
// for good.
var unable = []string{
	"ActionNotSupported", "ActionParameterNotSupported", "ActionParameterUnknown", "ActionParameterValueNotInList",
	"ActionParameterValueFormatError", "PropertyValueNotInList", "PropertyUnknown", "QueryNotSupported",
}

// refused sorts an answer into the errors that every driver uses.
func (c *conversation) refused(what, method string, a answer) error {
	id, text := said(a.body)
	kind, ok := kinds[a.status]
	switch {
	case ok:
	case a.status < 400:
		kind = device.ErrUnsupported
		text = "a redirect that is not followed"
		if u, err := url.Parse(a.header.Get("Location")); err == nil && u.Host != "" {
			text += ", to " + u.Host
		}
	case a.status >= 500:
		kind = device.ErrUnreachable
	case a.status == http.StatusBadRequest && slices.Contains(unable, id[strings.LastIndex(id, ".")+1:]):
		kind = device.ErrUnsupported
	default:
		kind = device.ErrConflict
	}
	if what == "read the service" && kind == device.ErrUnknown {
		kind, text = device.ErrUnsupported, "there is no Redfish service at this address"
	}
	parts := []string{fmt.Sprintf("status %d", a.status)}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		parts = append(parts, rest.Busy(a.header.Get("Retry-After")))
	}
	for _, p := range []string{id, text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	words := rest.Line(c.scrub(what + ": " + strings.Join(parts, ": ")))
	if a.status == http.StatusUnauthorized && !c.m.sessions {
		words += "; if user and password are right, the BMC may take no basic authentication: write auth=session"
	}
	return &refusal{kind, a.status, c.m.at() + ": " + words}
}

// message is a Redfish message. Many BMCs leave Message out, as DSP0266 allows: then
// MessageId and Resolution are all that they say.
type message struct {
	ID         string `json:"MessageId"`
	Text       string `json:"Message"`
	Resolution string `json:"Resolution"`
}

// said is the first message of an answer that has a text. Extended messages come first,
// because they say more.
func said(body []byte) (id, text string) {
	var a struct {
		Error struct {
			Code     string    `json:"code"`
			Text     string    `json:"message"`
			Extended []message `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &a) != nil {
		return "", "" // no Redfish message; only the status is known
	}
	for _, m := range a.Error.Extended {
		if text := cmp.Or(m.Text, m.Resolution); m.ID != "" || text != "" {
			return cmp.Or(m.ID, a.Error.Code), text
		}
	}
	return a.Error.Code, a.Error.Text
}

// lost is a request without an answer. Whether a command took effect is for the next read
// to tell.
func (c *conversation) lost(what string, err error) error {
	return c.errorf(device.ErrUnreachable, "%s: %s", what, trust.Lost(err))
}

// scrub removes credentials from an answer (S29: no secret is shown).
func (c *conversation) scrub(s string) string {
	return device.Redacted(s, c.m.password, c.token, base64.StdEncoding.EncodeToString([]byte(c.m.user+":"+c.m.password)))
}

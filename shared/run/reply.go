package run

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Reply reads a function's answer over HTTP, in the form that HTTP writes.
func Reply(ctx context.Context, status int, h http.Header, body []byte) (*event.Event, error) {
	switch {
	case status == http.StatusBadRequest:
		return nil, fmt.Errorf("%w: %s", ErrMalformed, said(body))
	case status < 200 || status > 299:
		return nil, fmt.Errorf("it answers %d %s", status, said(body))
	case h.Get("Ce-Specversion") == "" && !strings.HasPrefix(h.Get("Content-Type"), event.ApplicationCloudEventsJSON):
		return nil, nil
	}
	e, err := decode(ctx, h, body)
	if err != nil {
		return nil, fmt.Errorf("read its reply: %w", err)
	}
	return &e, nil
}

// said is the beginning of an answer, in one line.
func said(body []byte) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 256)]), "")), " ")
}

package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// HTTPSender posts events, in binary mode, to the one URL that it is given.
type HTTPSender struct {
	sink   string
	client *http.Client
}

// NewHTTPSender refuses a URL to which nothing could be posted.
func NewHTTPSender(sink string) (*HTTPSender, error) {
	u, err := url.Parse(sink)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("sink %q is not an http or https URL", sink)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = senders
	return &HTTPSender{sink: sink, client: &http.Client{
		Transport: transport, Timeout: sendTimeout,
		// Who follows a redirect takes another's word for where events go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// maxAnswer is how much of a refusal is worth repeating in a log line.
const maxAnswer = 256

// Send returns when the sink has said that it has the event: with any 2xx.
func (h *HTTPSender) Send(ctx context.Context, e event.Event) error {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, h.sink, e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return fmt.Errorf("post event: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // also lets the connection be used again
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("post event: %s %s", resp.Status, strings.Join(strings.Fields(string(said)), " "))
	}
	return nil
}

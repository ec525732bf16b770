package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/nodefence/nodefence/shared/run"
)

// FunctionName stands for a function's name in the address of all functions.
const FunctionName = "{function}"

// callTimeout bounds one call of a function: longer than the longest device call.
const callTimeout = time.Minute

// Caller calls functions at their own URLs, past any broker.
type Caller struct {
	address string
	client  *http.Client
}

// NewCaller takes the URL of all functions, with {function} for the name. Trust is as
// in o; whatever else o says is about a sink.
func NewCaller(address string, o Options) (*Caller, error) {
	u, err := url.Parse(strings.ReplaceAll(address, FunctionName, "function"))
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL") // and may hold a password
	case u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("%q is not an http or https URL", u.Redacted())
	case !strings.Contains(address, FunctionName):
		return nil, fmt.Errorf("%q does not hold %s, which stands for the function's name", u.Redacted(), FunctionName)
	}
	folder := o.TrustBundles
	if folder == "" {
		folder = trustBundles
	}
	pool, err := roots(o.CACerts, folder)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return &Caller{address: address, client: &http.Client{
		Transport: transport, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Call posts an event to a function and reads its reply.
func (c *Caller) Call(ctx context.Context, function string, e event.Event) (*event.Event, error) {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, strings.ReplaceAll(c.address, FunctionName, function), e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, run.MaxBody))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return run.Reply(ctx, resp.StatusCode, resp.Header, body)
}

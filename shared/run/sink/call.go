package sink

import (
	"cmp"
	"context"
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

// FunctionName is the placeholder for a function's name.
const FunctionName = "{function}"

// Caller calls functions at their own URLs, without a broker.
type Caller struct {
	trusting
	address string
}

// NewCaller takes the URL of all functions, with {function} in place of the name. Trust is
// as in o; the other options of o are about a sink. A call may take as long as a platform gives
// one invocation: a reply is lost when its caller disconnects.
func NewCaller(address string, o Options, invocation time.Duration) (*Caller, error) {
	u, err := url.Parse(strings.ReplaceAll(address, FunctionName, "function"))
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL") // the URL may hold a password
	case u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("%q is not an http or https URL", u.Redacted())
	case !strings.Contains(address, FunctionName):
		return nil, fmt.Errorf("%q does not hold %s, which stands for the function's name", u.Redacted(), FunctionName)
	}
	o.TrustBundles = cmp.Or(o.TrustBundles, trustBundles)
	c := &Caller{trusting: trusting{o: o, timeout: invocation}, address: address}
	if err := c.connectAnew(); err != nil {
		return nil, err
	}
	return c, nil
}

// Call posts an event to a function and reads its reply. If the function's certificate is
// not trusted, Call reads the trusted certificates again and tries once more.
func (c *Caller) Call(ctx context.Context, function string, e event.Event) (*event.Event, error) {
	at := strings.ReplaceAll(c.address, FunctionName, function)
	resp, err := c.post(ctx, at, e)
	if err != nil {
		var anew bool
		if anew, err = c.doubted(err); anew {
			resp, err = c.post(ctx, at, e)
		}
	}
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

func (c *Caller) post(ctx context.Context, at string, e event.Event) (*http.Response, error) {
	req, err := cehttp.NewHTTPRequestFromEvent(ctx, at, e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return c.client.Load().Do(req)
}

package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// conversation is one call's conversation with the BMC.
type conversation struct {
	m    *machine
	base *url.URL
	http *http.Client
	// token and session are empty with basic authentication.
	token, session string
}

const (
	// longest is more than any resource that is read here.
	longest = 1 << 20
	// redirects are the redirects of one request, all of them on this BMC.
	redirects = 3
	// goodbye is the time for the end of a session, within the caller's time.
	goodbye = time.Second
)

// talk does one thing and leaves nothing behind: no session, no connection (S10: nothing
// outlives its deadline).
func (m *machine) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	transport := trust.Transport(m.tls)
	defer transport.CloseIdleConnections()
	c := &conversation{
		m: m, base: &url.URL{Scheme: "https", Host: m.at()},
		http: &http.Client{Transport: transport, CheckRedirect: m.stay},
	}
	if err := ctx.Err(); err != nil {
		return c.errorf(device.ErrUnreachable, "%v", err)
	}
	if !m.sessions {
		return do(ctx, c)
	}
	short, cancel := device.Shorter(ctx, goodbye)
	defer cancel()
	if err := c.logIn(short); err != nil {
		return err
	}
	defer c.logOut(ctx)
	return do(short, c)
}

// stay follows a redirect of a read on the same BMC. The caller's password must go to no
// other host, and a redirected command would arrive as another request.
func (m *machine) stay(r *http.Request, via []*http.Request) error {
	if len(via) > redirects || via[0].Method != http.MethodGet || !m.is(r.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// is reports whether a URL is on this BMC.
func (m *machine) is(u *url.URL) bool {
	port, err := host.Port("port", u.Port(), 443)
	return err == nil && u.Scheme == "https" && u.User == nil && strings.EqualFold(u.Hostname(), m.host) && port == m.port
}

// answer is an answer with its body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends one request, once, and returns an error for any answer but a success.
func (c *conversation) do(ctx context.Context, what, method, uri string, body any) (answer, error) {
	to, err := c.here(uri)
	if err != nil {
		return answer{}, c.errorf(device.ErrUnsupported, "%s: %v", what, err)
	}
	req, err := c.request(ctx, method, to, body)
	if err != nil {
		return answer{}, c.errorf(device.ErrUnsupported, "%s: %v", what, err)
	}
	if method == http.MethodPost {
		if err := device.InTime(ctx); err != nil {
			return answer{}, c.lost(what, err)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.lost(what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest+1))
	a := answer{resp.StatusCode, resp.Header, text}
	switch {
	case err != nil:
		return answer{}, c.lost(what, err)
	case ctx.Err() != nil: // the answer came while the connection was being closed
		return answer{}, c.lost(what, ctx.Err())
	case len(text) > longest:
		return answer{}, c.errorf(device.ErrUnsupported, "%s: the answer is longer than %d bytes", what, longest)
	case a.status < 200 || a.status > 299 || (method == http.MethodGet && a.status != http.StatusOK):
		return answer{}, c.refused(what, method, a)
	}
	return a, nil
}

// request can't be sent again: its body can be read once.
func (c *conversation) request(ctx context.Context, method string, to *url.URL, body any) (*http.Request, error) {
	var text io.Reader
	length := 0
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text, length = device.TimelyBody(ctx, bytes.NewReader(b)), len(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), text)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(length)
	req.GetBody = nil
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	req.Header.Set("User-Agent", "nodefence")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.token != "":
		req.Header.Set("X-Auth-Token", c.token)
	case !c.m.sessions:
		req.SetBasicAuth(c.m.user, c.m.password)
	}
	return req, nil
}

// here is a link that stays on this BMC.
func (c *conversation) here(uri string) (*url.URL, error) {
	u, err := c.base.Parse(uri)
	if err != nil {
		return nil, errors.New("the link is not a URI")
	}
	if !c.m.is(u) {
		return nil, errors.New("the link leads to another host or port, " + u.Host)
	}
	return u, nil
}

func (c *conversation) decode(what string, a answer, into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return c.errorf(device.ErrUnsupported, "%s: the answer is not what Redfish has: %v", what, err)
	}
	return nil
}

package vsphere

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// conversation is one call's words with the vCenter.
type conversation struct {
	m    *machine
	api  *vim25.Client
	wire *wire
}

// goodbye bounds the end of a session, within the caller's time.
const goodbye = time.Second

// talk does one thing and leaves nothing behind: no session, no connection (S10).
func (m *machine) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	transport := trust.Transport(m.tls)
	defer transport.CloseIdleConnections()
	c := &conversation{m: m, wire: &wire{next: transport}}
	if err := ctx.Err(); err != nil {
		return c.errorf(device.ErrUnreachable, "%v", err)
	}
	short, cancel := shorter(ctx)
	defer cancel()
	if err := c.logIn(short); err != nil {
		return err
	}
	defer c.logOut(ctx)
	return do(short, c)
}

func (c *conversation) logIn(ctx context.Context) error {
	sc := soap.NewClient(&url.URL{Scheme: "https", Host: c.m.at(), Path: vim25.Path}, false)
	// The library's own way to connect doesn't end with the context.
	sc.Transport = c.wire
	sc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	sc.UserAgent = "nodefence"
	api, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return c.explain("read the service", err)
	}
	c.api = api
	if api.ServiceContent.SessionManager == nil || api.ServiceContent.SearchIndex == nil {
		return c.errorf(device.ErrUnsupported, "read the service: it has no sessions, or can't be searched")
	}
	_, err = methods.Login(ctx, api, &types.Login{
		This: *api.ServiceContent.SessionManager, UserName: c.m.user, Password: c.m.password, Locale: "en_US",
	})
	return c.explain("log in", err)
}

// shorter keeps back time to end the session, so that the call ends within the
// caller's.
func shorter(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(end)
	return context.WithDeadline(ctx, end.Add(-min(goodbye, left/4)))
}

// logOut takes no longer than the caller has, but does not end with a cancelled
// call: sessions are few, and one that is left stays for half an hour.
func (c *conversation) logOut(ctx context.Context) {
	until := time.Now().Add(goodbye)
	if end, ok := ctx.Deadline(); ok && end.Before(until) {
		until = end
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	_, _ = methods.Logout(ctx, c.api, &types.Logout{This: *c.api.ServiceContent.SessionManager}) // it ends an abandoned one by itself
}

// longest is more than any answer that is read here has.
const longest = 4 << 20

// wire bounds what the library reads, and keeps what it would lose of an answer.
type wire struct {
	next http.RoundTripper
	// cookies are what the service gave us, which must not be in an error.
	cookies []string
}

var errLong = fmt.Errorf("the answer is longer than %d bytes", longest)

// notSOAP is an answer with a status that SOAP does not have.
type notSOAP struct {
	status int
	after  string
}

func (e *notSOAP) Error() string {
	s := fmt.Sprintf("status %d", e.status)
	switch n, err := strconv.ParseUint(e.after, 10, 31); {
	case e.after == "":
		return s
	case err == nil:
		return fmt.Sprintf("%s: busy, asks to wait %d s", s, n)
	}
	return s + ": busy, asks to wait until " + e.after
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	for _, c := range resp.Cookies() {
		w.cookies = append(w.cookies, c.Value)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusInternalServerError {
		return nil, &notSOAP{resp.StatusCode, resp.Header.Get("Retry-After")}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, longest+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > longest:
		return nil, errLong
	case r.Context().Err() != nil: // it came while we were hanging up
		return nil, r.Context().Err()
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

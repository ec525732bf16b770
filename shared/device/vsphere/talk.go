package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// conversation is one call's conversation with the vCenter.
type conversation struct {
	m    *machine
	http *http.Client
	// cookies hold the session.
	cookies map[string]string
	// the service's own objects
	sessions, search, collector, rights ref
	// session is the session's key.
	session string
}

const (
	// goodbye is the time for the end of a session, within the caller's time.
	goodbye = time.Second
	// longest is more than any answer that is read here.
	longest = 4 << 20
	// version is the version of the API that is used, which newer servers still answer.
	version = "6.5"
)

// talk does one thing and leaves nothing behind: no session, no connection (S10: nothing
// outlives its deadline).
func (m *machine) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	transport := trust.Transport(m.tls)
	defer transport.CloseIdleConnections()
	c := &conversation{m: m, cookies: map[string]string{}, http: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if err := ctx.Err(); err != nil {
		return c.errorf(device.ErrUnreachable, "%v", err)
	}
	short, cancel := device.Shorter(ctx, goodbye)
	defer cancel()
	err := c.logIn(short)
	if m.shut = nil; errors.Is(err, device.ErrDenied) {
		m.shut = err
	}
	if err != nil {
		return err
	}
	defer c.logOut(ctx)
	return do(short, c)
}

func (c *conversation) logIn(ctx context.Context) error {
	got, err := c.call(ctx, "RetrieveServiceContent", ref{"ServiceInstance", "ServiceInstance"})
	if err != nil {
		return c.explain("read the service", err)
	}
	content := got.at("returnval")
	c.sessions, c.search, c.collector = content.at("sessionManager").ref(), content.at("searchIndex").ref(), content.at("propertyCollector").ref()
	c.rights = content.at("authorizationManager").ref()
	if c.sessions.value == "" || c.search.value == "" || c.collector.value == "" {
		return c.errorf(device.ErrUnsupported, "read the service: it has no sessions, or can't be searched")
	}
	got, err = c.call(ctx, "Login", c.sessions, with("userName", c.m.user), with("password", c.m.password), with("locale", "en_US"))
	c.session = got.at("returnval", "key").text()
	return c.explain("log in", err)
}

// logOut takes no longer than the caller's time, but does not end with a cancelled call:
// sessions are few, and an abandoned one stays for half an hour.
func (c *conversation) logOut(ctx context.Context) {
	ctx, cancel := device.Goodbye(ctx, goodbye)
	defer cancel()
	_, _ = c.call(ctx, "Logout", c.sessions) // the server ends an abandoned session by itself
}

// status is an answer with an HTTP status that SOAP does not use.
type status struct {
	code  int
	after string
}

func (e *status) Error() string {
	s := fmt.Sprintf("status %d", e.code)
	if e.after != "" {
		s += ": " + rest.Busy(e.after)
	}
	return s
}

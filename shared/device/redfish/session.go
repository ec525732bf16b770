package redfish

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/nodefence/nodefence/shared/device"
)

// sessions is the path where sessions are made, in every service.
const sessions = root + "/SessionService/Sessions"

func (c *conversation) logIn(ctx context.Context) error {
	a, err := c.do(ctx, "open a session", http.MethodPost, sessions, map[string]string{"UserName": c.m.user, "Password": c.m.password})
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusBadRequest:
		// Some BMCs answer so to a wrong password.
		return &refusal{device.ErrDenied, no.status, no.text}
	case errors.As(err, &no) && (no.status == http.StatusNotFound || no.status == http.StatusMethodNotAllowed):
		return &refusal{device.ErrUnsupported, no.status, no.text + "; if it has no sessions, write auth=basic"}
	case err != nil:
		return err
	}
	c.token, c.session = a.header.Get("X-Auth-Token"), place(a.header.Get("Location"))
	if c.token == "" {
		return c.errorf(device.ErrUnsupported, "open a session: the answer has no X-Auth-Token")
	}
	return nil
}

// place is a session's path on its BMC. Some BMCs give themselves another host name or
// scheme in Location, behind a proxy or by a name that only they know.
func place(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// logOut takes no longer than the caller's time, but does not end with a cancelled call: a
// BMC has few sessions, and an abandoned one may take half an hour to end.
func (c *conversation) logOut(ctx context.Context) {
	if c.session == "" {
		return
	}
	ctx, cancel := device.Goodbye(ctx, goodbye)
	defer cancel()
	_, _ = c.do(ctx, "end the session", http.MethodDelete, c.session, nil) // the BMC ends an abandoned session by itself
}

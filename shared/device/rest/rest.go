package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// Talk is one call's conversation with an API.
type Talk struct {
	// About names the machine in errors, for example "instance 7".
	About string
	// Said reads an API's own code and message from an answer that is no success.
	Said func(body []byte) (code, text string)
	// Kinds are the errors for an API's own codes, if the status does not say enough.
	Kinds map[string]error
	// Header is sent with each request, for example a token.
	Header http.Header
	// Direct is a host, with its port, that is called without any proxy: it replaces the
	// machine's metadata server. Set it before Open.
	Direct string

	http    *http.Client
	secrets []string
}

// Open begins a conversation; End must follow. Proxies of the environment are used, as by
// every tool of a cloud, but not for the machine's own metadata server.
func (t *Talk) Open(cfg *tls.Config) {
	transport := trust.Transport(cfg)
	transport.Proxy = t.proxy
	t.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Header = http.Header{}
}

// proxy is the environment's proxy. A cloud's metadata server answers with a token for the
// machine that asks: behind a proxy that would be the proxy's machine, and the proxy could
// read our token (S29: no secret is shown).
func (t *Talk) proxy(r *http.Request) (*url.URL, error) {
	if t.Direct != "" && strings.EqualFold(r.URL.Host, t.Direct) {
		return nil, nil
	}
	host := r.URL.Hostname()
	if a, err := netip.ParseAddr(host); err == nil && a.Unmap().IsLinkLocalUnicast() || strings.EqualFold(strings.TrimSuffix(host, "."), "metadata.google.internal") {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// End closes all connections (S10: nothing outlives its deadline).
func (t *Talk) End() { t.http.CloseIdleConnections() }

// Hide keeps a secret out of errors (S29).
func (t *Talk) Hide(secrets ...string) { t.secrets = append(t.secrets, secrets...) }

// Request is one.
type Request struct {
	// What describes the request, for errors.
	What        string
	Method, URL string
	// Form or Body is sent, if set.
	Form url.Values
	Body any
}

// longest is more than any answer that is read here.
const longest = 4 << 20

// Do sends a request, once, and decodes a success into a value. With a value of nil, any
// success will do. It returns the answer's headers.
func (t *Talk) Do(ctx context.Context, r Request, into any) (http.Header, error) {
	err := ctx.Err()
	if r.Method != http.MethodGet {
		err = device.InTime(ctx)
	}
	if err != nil {
		return nil, t.Errorf(device.ErrUnreachable, "%s: %v", r.What, err)
	}
	req, err := t.request(ctx, r)
	if err != nil {
		return nil, t.Errorf(device.ErrUnsupported, "%s: %v", r.What, err)
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, t.lost(r.What, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, longest+1))
	switch {
	case err != nil:
		return nil, t.lost(r.What, err)
	case ctx.Err() != nil: // the answer came while the connection was being closed
		return nil, t.lost(r.What, ctx.Err())
	case len(body) > longest:
		return nil, t.Errorf(device.ErrUnsupported, "%s: the answer is longer than %d bytes", r.What, longest)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, t.refused(r.What, resp, body)
	case into == nil:
		return resp.Header, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, t.Errorf(device.ErrUnsupported, "%s: the answer is not what the API has: %v", r.What, err)
	}
	return resp.Header, nil
}

// request can't be sent again: its body can be read once.
func (t *Talk) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	kind := ""
	switch {
	case r.Form != nil:
		body, kind = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	case r.Body != nil:
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body, kind = bytes.NewReader(text), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, errors.New("the URL is none") // not shown: it may contain a secret
	}
	req.GetBody = nil
	if r.Method != http.MethodGet && body != nil {
		req.Body = io.NopCloser(device.TimelyBody(ctx, req.Body)) // a connection may have to be made first
	}
	for name, values := range t.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "nodefence")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

// statuses are the errors for HTTP statuses. Any other status means that the API refuses to
// do it now, or from 500 on that the API is broken.
var statuses = map[int]error{
	http.StatusUnauthorized:         device.ErrDenied,
	http.StatusForbidden:            device.ErrDenied,
	http.StatusProxyAuthRequired:    device.ErrDenied,
	http.StatusNotFound:             device.ErrUnknown,
	http.StatusGone:                 device.ErrUnknown,
	http.StatusMethodNotAllowed:     device.ErrUnsupported,
	http.StatusNotAcceptable:        device.ErrUnsupported,
	http.StatusUnsupportedMediaType: device.ErrUnsupported,
	http.StatusNotImplemented:       device.ErrUnsupported,
	http.StatusRequestTimeout:       device.ErrUnreachable,
	http.StatusTooManyRequests:      device.ErrUnreachable,
}

func (t *Talk) refused(what string, resp *http.Response, body []byte) error {
	code, text := t.Said(body)
	kind := t.Kinds[code]
	switch {
	case code != "" && kind != nil:
	case statuses[resp.StatusCode] != nil:
		kind = statuses[resp.StatusCode]
		if code == "" && text == "" && kind == device.ErrUnknown {
			kind, text = device.ErrUnsupported, "there is no such API at this address"
		}
	case resp.StatusCode < 400:
		kind, text = device.ErrUnsupported, "a redirect that is not followed"
	case resp.StatusCode >= 500:
		kind = device.ErrUnreachable
	default:
		kind = device.ErrConflict
	}
	parts := []string{what, fmt.Sprintf("status %d", resp.StatusCode)}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		parts = append(parts, Busy(resp.Header.Get("Retry-After")))
	}
	for _, p := range []string{code, text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return t.Errorf(kind, "%s", strings.Join(parts, ": "))
}

// Busy is the wait that a busy API asks for, by its Retry-After.
func Busy(after string) string {
	switch n, err := strconv.ParseUint(after, 10, 31); {
	case after == "":
		return "busy"
	case err == nil:
		return fmt.Sprintf("busy, asks to wait %d s", n)
	}
	return "busy, asks to wait until " + after
}

// lost is a request without an answer. Whether a command took effect is for the next read
// to tell.
func (t *Talk) lost(what string, err error) error {
	return t.Errorf(device.ErrUnreachable, "%s: %s", what, trust.Lost(err))
}

// Errorf is an error of one kind about this machine, in one line.
func (t *Talk) Errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, t.About, Line(device.Redacted(fmt.Sprintf(format, args...), t.secrets...)))
}

// Failed is a command that was accepted and failed later, with the API's own code. An
// unknown code means that the API refuses to do it now.
func (t *Talk) Failed(code, format string, args ...any) error {
	kind := t.Kinds[code]
	if kind == nil {
		kind = device.ErrConflict
	}
	return t.Errorf(kind, format, args...)
}

// As turns an error of this package into one of another kind.
func As(kind, err error) error {
	text := err.Error()
	for _, k := range []error{device.ErrUnreachable, device.ErrDenied, device.ErrUnsupported, device.ErrConflict, device.ErrUnknown, device.ErrStopping} {
		text = strings.TrimPrefix(text, k.Error()+": ")
	}
	return fmt.Errorf("%w: %s", kind, text)
}

// longestLine bounds the part of a foreign message that is kept.
const longestLine = 300

// Line is the first line of a foreign text.
func Line(s string) string {
	return device.Line(s, longestLine)
}

// Endpoint is the URL of an API, without a slash at its end; the usual one if none is
// given. Tokens are sent there, so it must use TLS, except on this very machine. An invalid
// URL is not shown: it may contain a credential (S29).
func Endpoint(param, s, usual string) (string, error) {
	s = strings.TrimRight(strings.TrimSpace(s), "/")
	if s == "" {
		s = usual
	}
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "", errors.New(param + " is missing")
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", errors.New(param + " is not an https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New(param + " has more than a scheme, a host, a port and a path")
	case u.Scheme == "http" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1":
		return "", errors.New(param + " is not an https URL; without TLS anybody can say that a machine is off")
	}
	return s, nil
}

// Bearer gets a token, and sends it with the requests that follow. Any answer but a success
// is a refusal of the account, unless nobody answered.
func (t *Talk) Bearer(ctx context.Context, r Request) error {
	var got struct {
		Token string `json:"access_token"`
	}
	_, err := t.Do(ctx, r, &got)
	switch {
	case errors.Is(err, device.ErrUnreachable):
		return err
	case err != nil:
		return As(device.ErrDenied, err)
	case got.Token == "":
		return t.Errorf(device.ErrDenied, "%s: the answer has none", r.What)
	}
	t.Hide(got.Token)
	t.Header.Set("Authorization", "Bearer "+got.Token)
	return nil
}

// Refused reads an answer whose member error is a code of the token server (RFC 6749), or
// else an object of the API's own.
func Refused(body []byte, own func(object json.RawMessage) (code, text string)) (code, text string) {
	var a struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	if json.Unmarshal(body, &a) != nil {
		return "", ""
	}
	var word string
	if json.Unmarshal(a.Error, &word) == nil {
		return word, a.Description
	}
	return own(a.Error)
}

// Told is the result of a command. If the API says that the machine can't be switched, the
// machine may be as wanted already. That is read from the machine, and not assumed (S9:
// read first, then act).
func Told(err error, goal device.Power, state func() (device.Reading, error)) error {
	if !errors.Is(err, device.ErrConflict) {
		return err
	}
	if now, rerr := state(); rerr == nil && now.Power == goal {
		return nil
	}
	return err
}

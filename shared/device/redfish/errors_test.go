package redfish_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
)

// TestErrors: each status in the one error that tells an operator what to correct, with one
// command and no more.
func TestErrors(t *testing.T) {
	const words = "Base.1.8.X: words of it"
	const noBasic = "; if user and password are right, the BMC may take no basic authentication: write auth=session"
	extended := func(messages string) func(*redfishtest.Refusal) {
		return func(r *redfishtest.Refusal) {
			r.Body = `{"error":{"code":"C","message":"See ExtendedInfo","@Message.ExtendedInfo":[` + messages + `]}}`
		}
	}
	no := func(status int) redfishtest.Refusal {
		return redfishtest.Refusal{Status: status, MessageID: "Base.1.8.X", Message: "words of\n it"}
	}
	with := func(status int, change func(*redfishtest.Refusal)) redfishtest.Refusal {
		r := no(status)
		change(&r)
		return r
	}
	for name, tc := range map[string]struct {
		no   redfishtest.Refusal
		kind error
		text string
	}{
		"401":                                   {no(401), device.ErrDenied, "status 401: " + words + noBasic},
		"403":                                   {no(403), device.ErrDenied, "status 403: " + words},
		"404":                                   {no(404), device.ErrUnknown, "status 404: " + words},
		"410":                                   {no(410), device.ErrUnknown, "status 410: " + words},
		"405":                                   {no(405), device.ErrUnsupported, "status 405: " + words},
		"501":                                   {no(501), device.ErrUnsupported, "status 501: " + words},
		"400":                                   {no(400), device.ErrConflict, "status 400: " + words},
		"400 about the value":                   {with(400, func(r *redfishtest.Refusal) { r.MessageID = "Base.1.8.ActionParameterValueNotInList" }), device.ErrUnsupported, "status 400: Base.1.8.ActionParameterValueNotInList: words of it"},
		"409":                                   {no(409), device.ErrConflict, "status 409: " + words},
		"412":                                   {no(412), device.ErrConflict, "status 412: " + words},
		"500":                                   {no(500), device.ErrUnreachable, "status 500: " + words},
		"503":                                   {no(503), device.ErrUnreachable, "status 503: busy: " + words},
		"503 with a time":                       {with(503, func(r *redfishtest.Refusal) { r.RetryAfter = "30" }), device.ErrUnreachable, "status 503: busy, asks to wait 30 s: " + words},
		"429 with a date":                       {with(429, func(r *redfishtest.Refusal) { r.RetryAfter = "Sat, 21 Nov 2026 08:00:00 GMT" }), device.ErrUnreachable, "status 429: busy, asks to wait until Sat, 21 Nov 2026 08:00:00 GMT: " + words},
		"in nobody's words":                     {with(404, func(r *redfishtest.Refusal) { r.Body = "<html>" }), device.ErrUnknown, "status 404"},
		"without extended info":                 {with(500, func(r *redfishtest.Refusal) { r.Body = `{"error":{"code":"C","message":"m"}}` }), device.ErrUnreachable, "status 500: C: m"},
		"a message with its ID alone":           {with(403, extended(`{"MessageId":"iLO.2.14.UnauthorizedLoginAttempt"}`)), device.ErrDenied, "status 403: iLO.2.14.UnauthorizedLoginAttempt"},
		"a message with a resolution alone":     {with(409, extended(`{"Resolution":"Wait for the POST."}`)), device.ErrConflict, "status 409: C: Wait for the POST."},
		"a message with an ID and a resolution": {with(409, extended(`{"MessageId":"B.1.X","Resolution":"Wait for the POST."}`)), device.ErrConflict, "status 409: B.1.X: Wait for the POST."},
		"an empty message before another":       {with(409, extended(`{},{"MessageId":"B.1.X","Message":"m"}`)), device.ErrConflict, "status 409: B.1.X: m"},
		"empty messages":                        {with(409, extended(`{}`)), device.ErrConflict, "status 409: C: See ExtendedInfo"},
		"words of another type":                 {with(500, func(r *redfishtest.Refusal) { r.Body = `{"error":{"code":7}}` }), device.ErrUnreachable, "status 500"},
		"to another host":                       {with(307, func(r *redfishtest.Refusal) { r.Location = "https://192.0.2.1/x" }), device.ErrUnsupported, "status 307: Base.1.8.X: a redirect that is not followed, to 192.0.2.1"},
		"to the same host by HTTP":              {with(302, func(r *redfishtest.Refusal) { r.Location = "http://127.0.0.1/x" }), device.ErrUnsupported, "status 302: Base.1.8.X: a redirect that is not followed, to 127.0.0.1"},
		"a long story is cut":                   {with(409, func(r *redfishtest.Refusal) { r.Message = strings.Repeat("x", 1000) }), device.ErrConflict, "status 409: Base.1.8.X: " + strings.Repeat("x", 400)},
		"an answer that isn't UTF-8":            {with(409, func(r *redfishtest.Refusal) { r.Body = `{"error":{"code":"C","message":"` + "\xff" + `"}}` }), device.ErrConflict, "status 409: C: \ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			d, at := s.dial(t, nil), s.host+":"+s.port
			for what, do := range map[string]func(context.Context) error{
				"read system " + uri:      func(ctx context.Context) error { _, err := d.State(ctx); return err },
				"send ForceOff to " + uri: d.Off,
			} {
				s.Refuse("GET", uri, redfishtest.Refusal{})
				s.Refuse("POST", resetURI, tc.no)
				if strings.HasPrefix(what, "read") {
					s.Refuse("GET", uri, tc.no)
				}
				s.heard()
				err := do(t.Context())
				text := clip.To(300, what+": "+tc.text)
				if d := cmp.Diff(tc.kind.Error()+": "+at+": "+text, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) {
					t.Error(d)
				}
				if n := strings.Count(strings.Join(s.heard(), "\n"), post); n > 1 {
					t.Errorf("the command was sent %d times", n)
				}
			}
		})
	}
}

// TestAnswers that are a success and say nothing that can be used.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		kind error
		text string
	}{
		"a page for people":        {"<html>welcome</html>", device.ErrUnsupported, "read system " + uri + ": the answer is not what Redfish has: invalid character '<' looking for beginning of value"},
		"nothing in it":            {"{}", device.ErrUnknown, uri + ` is no computer system, but ""`},
		"a power state of numbers": {`{"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","PowerState":1}`, device.ErrUnsupported, "read system " + uri + ": the answer is not what Redfish has: json: cannot unmarshal number into Go struct field system.PowerState of type string"},
		"more than is read":        {`{"x":"` + strings.Repeat("x", 1<<20) + `"}`, device.ErrUnsupported, "read system " + uri + ": the answer is longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Refuse("GET", uri, redfishtest.Refusal{Status: 200, Body: tc.body})
			r, err := s.dial(t, nil).State(t.Context())
			want := fmt.Sprintf("%v: %s:%s: %s", tc.kind, s.host, s.port, tc.text)
			if d := cmp.Diff([]any{device.Reading{}, want}, []any{r, devicetest.Words(err)}); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
		})
	}
}

// TestCut: a connection that ends at any point costs the answer, and the command
// is not sent again.
func TestCut(t *testing.T) {
	for _, at := range []redfishtest.Break{redfishtest.CutBefore, redfishtest.CutAfter, redfishtest.CutWithin} {
		for _, where := range []string{"GET " + uri, "POST " + resetURI} {
			t.Run(string(at)+" "+where, func(t *testing.T) {
				s := serve(t)
				s.Breaks(at, where)
				d := s.dial(t, nil)
				if err := d.Off(t.Context()); !errors.Is(err, device.ErrUnreachable) {
					t.Errorf("%v, want %v", err, device.ErrUnreachable)
				}
				n := strings.Count(strings.Join(s.heard(), "\n"), post)
				if want := strings.Count(where, "POST"); n != want {
					t.Errorf("the command was sent %d times, want %d", n, want)
				}
				s.Breaks(redfishtest.Whole)
				want := device.On
				if s.PowerOf("1") == redfishtest.Off {
					want = device.Off
				}
				if r, err := d.State(t.Context()); err != nil || r.Power != want {
					t.Errorf("afterwards %+v, %v, want %s", r, err, want)
				}
			})
		}
	}
}

// TestRedirects: a read may be sent on within the BMC, a command never.
func TestRedirects(t *testing.T) {
	s := serve(t)
	d := s.dial(t, map[string]string{"systems_uri": "/redfish/v1/Systems/one"})
	s.Refuse("GET", "/redfish/v1/Systems/one", redfishtest.Refusal{Status: 308, Location: uri + "/"})
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Errorf("%+v, %v", r, err)
	}
	s.Refuse("GET", "/redfish/v1/Systems/one", redfishtest.Refusal{Status: 308, Location: "https://" + s.host + ":" + s.port + uri})
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Errorf("%+v, %v", r, err)
	}
	s.Refuse("GET", "/redfish/v1/Systems/one", redfishtest.Refusal{Status: 308, Location: "/redfish/v1/Systems/one"})
	if _, err := d.State(t.Context()); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("in a circle: %v, want %v", err, device.ErrUnsupported)
	}
	s.heard()
	s.Refuse("POST", resetURI, redfishtest.Refusal{Status: 307, Location: "/redfish/v1/Systems/2/Actions/ComputerSystem.Reset"})
	err := s.dial(t, nil).Off(t.Context())
	if d := cmp.Diff([]string{get, post}, s.heard()); d != "" || !errors.Is(err, device.ErrUnsupported) {
		t.Error(err, d)
	}
}

// TestNoOtherHost: what a redirect leads to hears nothing, no password either.
func TestNoOtherHost(t *testing.T) {
	s, stranger := serve(t), serve(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s.Refuse("GET", uri, redfishtest.Refusal{Status: status, Location: "https://" + stranger.host + ":" + stranger.port + uri})
		for _, more := range []map[string]string{nil, {"auth": "session"}, {"ca": "", "ssl_insecure": "1"}} {
			if _, err := s.dial(t, more).State(t.Context()); !errors.Is(err, device.ErrUnsupported) {
				t.Errorf("%v, want %v", err, device.ErrUnsupported)
			}
		}
	}
	if sent := stranger.heard(); len(sent) > 0 {
		t.Errorf("the other host heard %q", sent)
	}
}

// TestNoSecretInErrors: not even if the answer has them (S29).
func TestNoSecretInErrors(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	for _, auth := range []string{"basic", "session"} {
		t.Run(auth, func(t *testing.T) {
			s := prepare(t)
			pad, token := 0, ""
			s.Heard = func(r *http.Request) {
				if is := r.Header.Get("X-Auth-Token"); is != "" {
					token = is
				}
				said := strings.Repeat("x", pad) + password + " " + basic + " " + token
				s.Refuse("GET", uri, redfishtest.Refusal{Status: 403, MessageID: password, Message: said})
			}
			s.host, s.port = s.Serve(t, s.ca.Issue(t, nil, "127.0.0.1"))
			d := s.dial(t, map[string]string{"auth": auth})
			// However much stands before it, and where the message is cut.
			for pad = 100; pad < 300; pad++ {
				_, err := d.State(t.Context())
				if !errors.Is(err, device.ErrDenied) {
					t.Fatal(err)
				}
				if (token != "") != (auth == "session") {
					t.Fatalf("with auth=%s the token is %q", auth, token)
				}
				for _, secret := range []string{password, basic, token} {
					if secret != "" && strings.Contains(err.Error(), secret[:6]) {
						t.Fatal("a secret is shown:", err)
					}
				}
			}
		})
	}
}

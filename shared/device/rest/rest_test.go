package rest_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

func TestEndpoint(t *testing.T) {
	const none, more = "u is not an https URL", "u has more than a scheme, a host, a port and a path"
	for given, want := range map[string][2]string{
		"":                              {"https://usual.example", ""},
		"https://x.example/a/":          {"https://x.example/a", ""},
		" https://x.example:8443 ":      {"https://x.example:8443", ""},
		"http://127.0.0.1:80":           {"http://127.0.0.1:80", ""},
		"http://x.example":              {"", none + "; without TLS anybody can say that a machine is off"},
		"ftp://x.example":               {"", none},
		"x.example":                     {"", none},
		"https://u:hunter2@x.example":   {"", more},
		"https://x.example?a=hunter2":   {"", more},
		"https://u:hunter2@x.example:y": {"", none},
	} {
		got, err := rest.Endpoint("u", given, "https://usual.example")
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != want[0] || text != want[1] {
			t.Errorf("%s: %q, %q, want %q", given, got, text, want)
		}
	}
}

// TestTheMachinesOwnTokenGoesByNoProxy: the metadata server is asked directly, and
// all else as the environment says. It runs in a process of its own, because Go reads
// the environment's proxies once.
func TestTheMachinesOwnTokenGoesByNoProxy(t *testing.T) {
	if os.Getenv("NODEFENCE_TEST_PROXIED") != "" {
		for _, host := range []string{"169.254.169.254", "metadata.google.internal", "metadata.invalid:8080", "api.invalid"} {
			limit := time.Second // what is asked directly may hang
			if host == "api.invalid" {
				limit = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			talk := &rest.Talk{About: "it", Said: func([]byte) (string, string) { return "", "" }, Direct: "metadata.invalid:8080"}
			talk.Open(&tls.Config{})
			_, _ = talk.Do(ctx, rest.Request{What: "ask", Method: http.MethodGet, URL: "http://" + host + "/token"}, nil)
			talk.End()
			cancel()
		}
		return
	}
	var heard []string
	by := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard = append(heard, r.URL.String()) }))
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "NODEFENCE_TEST_PROXIED=yes", "HTTP_PROXY="+by.URL, "NO_PROXY=", "no_proxy=", "REQUEST_METHOD=")
	out, err := child.CombinedOutput()
	by.Close()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if d := cmp.Diff([]string{"http://api.invalid/token"}, heard); d != "" {
		t.Error(d)
	}
}

// TestOneRequest: whatever the answer, nothing is sent twice, and nothing to
// another host.
func TestOneRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		kind   error
		text   string
	}{
		"a success":           {resttest.Always(200, `{}`), nil, ""},
		"a lost answer":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, device.ErrUnreachable, "do: EOF"},
		"half an answer":      {resttest.Always(200, `{`, "Content-Length", "9"), device.ErrUnreachable, "do: unexpected EOF"},
		"words without end":   {resttest.Always(200, strings.Repeat(" ", 5<<20)), device.ErrUnsupported, "do: the answer is longer than 4194304 bytes"},
		"a redirect":          {resttest.Always(307, "", "Location", "https://192.0.2.1/"), device.ErrUnsupported, "do: status 307: a redirect that is not followed"},
		"a broken balancer":   {resttest.Always(502, "<html>"), device.ErrUnreachable, "do: status 502"},
		"a time to come back": {resttest.Always(429, "", "Retry-After", "soon"), device.ErrUnreachable, "do: status 429: busy, asks to wait until soon"},
		"a proxy's refusal":   {resttest.Always(407, ""), device.ErrDenied, "do: status 407"},
	} {
		t.Run(name, func(t *testing.T) {
			c := resttest.New(t)
			c.Answer("POST /x", tc.answer)
			talk := &rest.Talk{About: "it", Said: func([]byte) (string, string) { return "", "" }}
			talk.Open(&tls.Config{})
			defer talk.End()
			_, err := talk.Do(t.Context(), rest.Request{What: "do", Method: "POST", URL: c.URL + "/x", Body: map[string]int{"a": 1}}, &struct{}{})
			want := ""
			if tc.kind != nil {
				want = tc.kind.Error() + ": it: " + tc.text
			}
			if got := devicetest.Words(err); got != want || !errors.Is(err, tc.kind) {
				t.Errorf("%q, want %q", got, want)
			}
			if n := len(c.Heard()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestNothingIsSentLate: the claim runs out while the connection is made, while this machine was
// suspended (S8).
func TestNothingIsSentLate(t *testing.T) {
	var whole atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			whole.Add(1)
		}
	}))
	defer s.Close()
	talk := &rest.Talk{About: "it", Said: func([]byte) (string, string) { return "", "" }}
	talk.Open(&tls.Config{})
	defer talk.End()
	asked := 0
	ctx := device.Timely(t.Context(), func() time.Duration { asked++; return time.Duration(2-asked) * time.Second })
	if _, err := talk.Do(ctx, rest.Request{What: "off", Method: http.MethodPost, URL: s.URL, Body: "off"}, nil); err == nil {
		t.Error("no error")
	}
	s.Close()
	if whole.Load() > 0 {
		t.Error("the whole command was sent")
	}
}

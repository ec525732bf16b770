package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// guarded is a guard with something inside, and the cookie of a browser that was let in.
func guardedServer(t *testing.T) (*guard, http.Handler, *http.Cookie) {
	t.Helper()
	g := newGuard(8123)
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })
	h := g.guarded(inside)
	r := request(t, http.MethodGet, g.invitation(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != g.base+"/" || len(w.Result().Cookies()) != 1 {
		t.Fatalf("the token does not let in: %d %v", w.Code, w.Header())
	}
	return &g, h, w.Result().Cookies()[0]
}

func request(t *testing.T, method, address string, c *http.Cookie) *http.Request {
	t.Helper()
	r := httptest.NewRequest(method, address, nil)
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		r.Host = u.Host
	} else {
		r.Host = "127.0.0.1:8123"
	}
	if c != nil {
		r.AddCookie(c)
	}
	return r
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestTheCookie: a page of another site never gets it, and no script reads it.
func TestTheCookie(t *testing.T) {
	g, h, c := guardedServer(t)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != g.base+"/" || len(g.base) < 20 || len(c.Value) < 22 {
		t.Errorf("cookie %+v", c)
	}
	if w := answer(h, request(t, http.MethodGet, g.base+"/", c)); w.Body.String() != "inside" {
		t.Errorf("with the cookie: %d %s", w.Code, w.Body)
	}
}

// TestNobodyElseGetsIn: each request here lacks one thing, and is refused.
func TestNobodyElseGetsIn(t *testing.T) {
	g, h, c := guardedServer(t)
	inside := g.base + "/"
	for name, r := range map[string]func() *http.Request{
		"no cookie": func() *http.Request { return request(t, http.MethodGet, inside, nil) },
		"another cookie": func() *http.Request {
			return request(t, http.MethodGet, inside, &http.Cookie{Name: cookieName, Value: "x"})
		},
		"no path":         func() *http.Request { return request(t, http.MethodGet, "/policies", c) },
		"another host":    func() *http.Request { return request(t, http.MethodGet, "http://evil.example:8123"+inside, c) },
		"another port":    func() *http.Request { return request(t, http.MethodGet, "http://127.0.0.1:80"+inside, c) },
		"a port left out": func() *http.Request { return request(t, http.MethodGet, "http://127.0.0.1"+inside, c) },
		"no token":        func() *http.Request { return request(t, http.MethodGet, "/", c) },
		"an empty token":  func() *http.Request { return request(t, http.MethodGet, "/?token=", nil) },
		"a guessed token": func() *http.Request { return request(t, http.MethodGet, "/?token=GUESSED", nil) },
		"another site's page": func() *http.Request {
			return with(request(t, http.MethodGet, inside, c), "Sec-Fetch-Site", "cross-site")
		},
		"another port's page": func() *http.Request {
			return with(request(t, http.MethodPost, inside, c), "Sec-Fetch-Site", "same-site")
		},
		"another origin": func() *http.Request {
			return with(request(t, http.MethodPost, inside, c), "Origin", "http://127.0.0.1:80")
		},
		"an origin of no page": func() *http.Request { return with(request(t, http.MethodPost, inside, c), "Origin", "null") },
	} {
		if w := answer(h, r()); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "inside") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestPort80: a browser leaves it out of the host and the origin, and no other port.
func TestPort80(t *testing.T) {
	g := newGuard(80)
	h := g.guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	c := &http.Cookie{Name: cookieName, Value: g.session}
	if w := answer(h, request(t, http.MethodGet, strings.Replace(g.invitation(), ":80/", "/", 1), nil)); w.Code != http.StatusSeeOther {
		t.Errorf("the address that is printed: %d %s", w.Code, w.Body)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"} {
		if w := answer(h, with(request(t, http.MethodPost, "http://"+host+g.base+"/", c), "Origin", "http://"+host)); w.Body.String() != "inside" {
			t.Errorf("as %s: %d %s", host, w.Code, w.Body)
		}
	}
	for _, other := range []string{"http://127.0.0.1:8123", "https://127.0.0.1", "http://evil.example"} {
		if w := answer(h, with(request(t, http.MethodPost, "http://127.0.0.1"+g.base+"/", c), "Origin", other)); w.Code != http.StatusForbidden {
			t.Errorf("from %s: %d %s", other, w.Code, w.Body)
		}
	}
}

func with(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

// TestATokenLetsInOnce: it stands in the terminal and in the browser's history. The next one is
// another.
func TestATokenLetsInOnce(t *testing.T) {
	g := newGuard(8123)
	asked := 0
	g.invited = func() { asked++ }
	h := g.guarded(http.NotFoundHandler())
	first := g.invitation()
	if w := answer(h, with(request(t, http.MethodGet, first, nil), "Sec-Purpose", "prefetch")); w.Code != http.StatusForbidden || asked != 0 {
		t.Errorf("loaded in advance: %d", w.Code)
	}
	if w := answer(h, request(t, http.MethodGet, first, nil)); w.Code != http.StatusSeeOther || asked != 1 {
		t.Errorf("once: %d, asked %d", w.Code, asked)
	}
	if w := answer(h, request(t, http.MethodGet, first, nil)); w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 || !strings.Contains(w.Body.String(), "If it was not you who used this one, end kubectl fence ui") {
		t.Errorf("twice: %d %s", w.Code, w.Body)
	}
	second := g.invitation()
	third := g.invitation()
	if w := answer(h, request(t, http.MethodGet, second, nil)); second == third || w.Code != http.StatusForbidden {
		t.Errorf("a token that another one has replaced: %d", w.Code)
	}
	if w := answer(h, with(request(t, http.MethodGet, third, nil), "Sec-Fetch-Site", "cross-site")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), g.base) {
		t.Errorf("from a link on another site: %d %s", w.Code, w.Body)
	}
}

// TestHeaders: nothing of another host is loaded, no frame shows the page, and nothing is kept.
func TestHeaders(t *testing.T) {
	g, h, c := guardedServer(t)
	got := answer(h, request(t, http.MethodGet, g.base+"/", c)).Header()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
	} {
		if !strings.HasPrefix(got.Get(name), want) {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
	if strings.Contains(got.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows what it calls unsafe")
	}
}

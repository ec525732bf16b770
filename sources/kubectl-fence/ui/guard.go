package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// guard lets in who has a token, and nobody else. It says no to other sites' pages in the same
// browser, to names of other hosts that lead here (DNS rebinding), and to other programs on this
// machine.
type guard struct {
	// hosts are the names of this server, as a browser may send them; the first is printed.
	hosts []string
	// base is the path below which everything is. The cookie is sent for this path alone:
	// browsers send a cookie of 127.0.0.1 to every port of it, also to another user's server.
	base string
	// session is the cookie's value, and form is what each of our forms sends along.
	session, form string
	// invited is called after a browser was let in.
	invited func()

	tokens *tokens
	cross  *http.CrossOriginProtection
}

// tokens has the one token that lets the next browser in.
type tokens struct {
	mu   sync.Mutex
	next string
}

// cookieName is that of the cookie.
const cookieName = "kubectl-fence"

// newGuard guards a server on this port of 127.0.0.1. rand.Text has 130 bits at random.
func newGuard(port int) guard {
	p := ":" + strconv.Itoa(port)
	hosts := []string{host + p, "localhost" + p}
	if port == 80 { // a browser leaves it out
		hosts = append(hosts, host, "localhost")
	}
	return guard{
		hosts: hosts, base: "/" + rand.Text(), session: rand.Text() + rand.Text(), form: rand.Text(),
		tokens: &tokens{}, cross: http.NewCrossOriginProtection(), invited: func() {},
	}
}

// invitation is an address that lets one browser in. The one before it does no longer.
func (g *guard) invitation() string {
	g.tokens.mu.Lock()
	defer g.tokens.mu.Unlock()
	g.tokens.next = rand.Text()
	return fmt.Sprintf("http://%s/?token=%s", g.hosts[0], g.tokens.next)
}

// spend tells whether the token lets somebody in, and takes it away.
func (g *guard) spend(token string) bool {
	g.tokens.mu.Lock()
	defer g.tokens.mu.Unlock()
	ok := g.tokens.next != "" && same(token, g.tokens.next)
	if ok {
		g.tokens.next = ""
	}
	return ok
}

// same compares two secrets in a time that tells nothing about them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// policy is what a page of ours may load: its own style, script and events.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded lets through to inside what comes from our own pages in a browser that was let in.
func (g *guard) guarded(inside http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		switch {
		case !slices.Contains(g.hosts, r.Host):
			refuse(w, "this is not the address of kubectl fence ui: use the one that it has printed")
		case r.Method == http.MethodGet && r.URL.Path == "/":
			g.enter(w, r)
		case !strings.HasPrefix(r.URL.Path, g.base+"/") || !g.known(r):
			refuse(w, "you are not let in: use the address that kubectl fence ui has printed")
		case !ownSite(r) || !g.ownOrigin(r) || g.cross.Check(r) != nil:
			refuse(w, "another site's page has sent this: open the page yourself")
		default:
			http.StripPrefix(g.base, inside).ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, words string) { http.Error(w, words, http.StatusForbidden) }

// known tells whether the request has our cookie.
func (g *guard) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	return err == nil && same(c.Value, g.session)
}

// ownSite tells whether our own page sent the request, or the person typed its address. To a
// browser every port of 127.0.0.1 is the same site, so that does not suffice.
func ownSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

// ownOrigin tells whether the request, if it says from where it is, is from here.
func (g *guard) ownOrigin(r *http.Request) bool {
	o := r.Header.Get("Origin")
	return o == "" || slices.ContainsFunc(g.hosts, func(host string) bool { return o == "http://"+host })
}

// enter exchanges a token for the cookie. A browser that only loads in advance is not let in.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Purpose") != "" || !g.spend(r.URL.Query().Get("token")) {
		refuse(w, "this token lets nobody in, or no longer: use the address that kubectl fence ui has printed last. If it was not you who used this one, end kubectl fence ui: whoever did acts as you")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: g.session, Path: g.base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	defer g.invited()
	if ownSite(r) {
		http.Redirect(w, r, g.base+"/", http.StatusSeeOther)
		return
	}
	// A link on another site led here, and to a redirect the browser would not send the cookie.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><title>nodefence</title><meta http-equiv="refresh" content="0;url=%s/"><p><a href="%[1]s/">Go on</a></p></html>`, g.base)
}

package ui

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/mirror"
)

// early is a server that has read nothing of its cluster yet, which nobody reaches, and a browser
// that was let in.
func early(t *testing.T) (*Server, *http.Client, string) {
	t.Helper()
	return before(t, &rest.Config{Host: "https://127.0.0.1:1"})
}

// before is a server whose mirror has read nothing of this API server yet, and a browser that was let in.
func before(t *testing.T, cfg *rest.Config) (*Server, *http.Client, string) {
	t.Helper()
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Options: Options{Client: c, User: "alice", Namespace: "nodefence-system", Out: io.Discard}, mirror: mirror.New(c).WithReports()}
	web := httptest.NewUnstartedServer(nil)
	u, err := url.Parse("http://" + web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.guard = newGuard(0)
	s.hosts = []string{u.Host, u.Host}
	web.Config.Handler = s.handler()
	web.Start()
	t.Cleanup(web.Close)
	jar := &oneCookie{&http.Cookie{Name: cookieName, Value: s.session}}
	return s, &http.Client{Jar: jar}, u.String() + s.base
}

// oneCookie sends one cookie to everybody.
type oneCookie struct{ is *http.Cookie }

func (c *oneCookie) SetCookies(*url.URL, []*http.Cookie) {}
func (c *oneCookie) Cookies(*url.URL) []*http.Cookie     { return []*http.Cookie{c.is} }

// TestBeforeAnythingIsRead: the pages are served, and say that nothing is known yet: no empty list
// looks like a calm cluster.
func TestBeforeAnythingIsRead(t *testing.T) {
	s, c, base := early(t)
	for _, g := range s.look().Gaps {
		if !g.Unread {
			t.Errorf("%s count as read", g.Kind)
		}
	}
	for path, want := range map[string]struct {
		status int
		words  []string
	}{
		"/":          {200, []string{"Nodes are still being read.", "Which nodes there are is not known.", "Whether a node needs a look is not known.", "Which policies there are is not known."}},
		"/policies":  {200, []string{"FencePolicies are still being read.", "Which policies there are is not known."}},
		"/history":   {200, []string{"NodeFences are still being read.", "Which fences there were is not known."}},
		"/node/none": {503, []string{"Not known yet", "Whether there is a node none is not known, because Nodes are still being read.", `data-path="/node/none"`}},
		"/elsewhere": {404, []string{"There is no page /elsewhere."}}, "/do/nothing/x": {404, []string{"There is no such page"}},
		"/style.css": {200, []string{"--ground"}}, "/live.js": {200, []string{"EventSource"}}, "/do/abort/x": {422, []string{"the API server does not answer"}},
	} {
		r, err := c.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ToLower(read(t, r))
		if r.StatusCode != want.status {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		for _, words := range want.words {
			if !strings.Contains(got, strings.ToLower(words)) {
				t.Errorf("%s: without %q: %s", path, words, got)
			}
		}
		for _, calm := range []string{"there is no node.", "no fence is open", "no node is fenced", "have no fence", "never fenced", "does not exist", "there are none"} {
			if strings.Contains(got, calm) {
				t.Errorf("%s says %q", path, calm)
			}
		}
	}
}

// TestAFormOfOurs: a form must have the secret, the time and, where it must be typed, the name.
func TestAFormOfOurs(t *testing.T) {
	s, c, base := early(t)
	now := time.Now().UTC().Format(time.RFC3339)
	for name, tc := range map[string]struct {
		path   string
		form   url.Values
		status int
	}{
		"no secret":      {"/do/abort/x", url.Values{"at": {now}}, 403},
		"another secret": {"/do/abort/x", url.Values{"at": {now}, "secret": {"x"}}, 403},
		"no time":        {"/do/abort/x", url.Values{"secret": {s.form}}, 403},
		"no such verb":   {"/do/nothing/x", url.Values{"at": {now}, "secret": {s.form}}, 404},
		"whole":          {"/do/abort/x", url.Values{"at": {now}, "secret": {s.form}}, 422}, // the API server is asked, and does not answer
	} {
		r, err := c.PostForm(base+tc.path, tc.form)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != tc.status {
			t.Errorf("%s: %d, want %d", name, r.StatusCode, tc.status)
		}
	}
}

// first is the first news of a page.
func first(t *testing.T, c *http.Client, base, path string) news {
	t.Helper()
	r, err := c.Get(base + "/live?page=" + url.QueryEscape(path))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	line, err := bufio.NewReader(r.Body).ReadString('\n')
	var n news
	if err != nil || json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &n) != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return n
}

// TestAPageThatIsGone says so where it was, with the time, and the page as it was does not stay.
func TestAPageThatIsGone(t *testing.T) {
	_, c, base := early(t)
	for path, words := range map[string]string{"/elsewhere": "There is no page /elsewhere.", "/node/none": "Whether there is a node none is not known"} {
		n := first(t, c, base, path)
		if !strings.Contains(n.Main, "<main") || !strings.Contains(n.Main, words) || !strings.Contains(n.Saying, words) || !strings.HasPrefix(n.AsOf, "live, as of ") {
			t.Errorf("%s: %+v", path, n)
		}
	}
}

// unseen is what is told of a page that is not seen.
func unseen(t *testing.T, c *http.Client, base, path string) (n news) {
	t.Helper()
	if err := json.Unmarshal([]byte(body(t, c, base+"/live?unseen&page="+url.QueryEscape(path))), &n); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

// TestAPageThatIsNotSeen: its title is told once, without its content, and no pods are read for it.
func TestAPageThatIsNotSeen(t *testing.T) {
	_, c, base := early(t)
	for path, title := range map[string]string{"/": "nodes not known – nodefence", "/history": "History of fences – nodefence", "/node/none": "Not known yet – nodefence", "/elsewhere": "There is no such page – nodefence"} {
		if n := unseen(t, c, base, path); n.Title != title || n.Main != "" || n.AsOf != "" || !strings.Contains(n.Saying, "still being read") {
			t.Errorf("%s: %+v", path, n)
		}
	}
}

// TestAPageIsFollowed: what comes first is the whole page, as it is rendered otherwise.
func TestAPageIsFollowed(t *testing.T) {
	_, c, base := early(t)
	n := first(t, c, base, "/history?node=a")
	if !strings.Contains(n.Main, "History of a") || n.Title != "History of fences – nodefence" || !strings.HasPrefix(n.AsOf, "live, as of ") {
		t.Errorf("%+v", n)
	}
}

package ui

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
)

//go:embed static
var static embed.FS

// look is what there is to be seen now.
func (s *Server) look() *page.Look {
	seen := s.mirror.Seen(s.Client.Now())
	s.lookForSource(&seen)
	l := &page.Look{Seen: seen, Base: s.base, User: s.User, Server: s.Options.Server, Context: s.Context, Zone: time.Local}
	for _, g := range s.mirror.Gaps() {
		l.Gaps = append(l.Gaps, page.Gap{Kind: g.Kind, Words: g.Words(), Unread: g.Unread, Since: served(l.Now, g.Since)})
	}
	return l
}

// served is a time of this machine's clock by the API server's, by which it is now; zero stays zero. In whole
// seconds it is the same each time that a page is rendered.
func served(now, local time.Time) time.Time {
	if local.IsZero() {
		return local
	}
	return now.Add(-time.Since(local)).Truncate(time.Second)
}

// at is the page at a path below base, with the entry of the navigation that it belongs to. Of a page that
// is not seen only the title counts: it is without what is read for it alone. An error says that there is
// no such page.
func (s *Server) at(path string, seen bool) (page.Shown, *page.Look, string, error) {
	l := s.look()
	u, err := url.Parse(path)
	if err != nil {
		return nil, l, "", fmt.Errorf("there is no page %q", path)
	}
	q := u.Query()
	n, _ := strconv.Atoi(q.Get("notice"))
	l.Notice = s.notice(n)
	switch {
	case u.Path == "/":
		return page.NewCluster(l, q.Get("zone"), q.Has("zone")), l, "Cluster", nil
	case u.Path == "/policies":
		return page.NewPolicies(l), l, "Policies", nil
	case u.Path == "/history":
		return page.NewHistory(l, q.Get("node")), l, "History", nil
	case strings.HasPrefix(u.Path, "/node/"):
		name := strings.TrimPrefix(u.Path, "/node/")
		if l.Node(name) != nil || l.Fence(name) != nil {
			s.lookForEvents(&l.Seen, name)
		}
		p, err := page.NewNode(l, name)
		switch {
		case err != nil:
		case seen:
			s.pods(p)
		default:
			s.mirror.Keep(p.Line.Node, time.Now())
		}
		return p, l, "", err
	}
	return nil, l, "", fmt.Errorf("there is no page %s", u.Path)
}

// pods adds the pods of the node to its page.
func (s *Server) pods(n *page.Node) {
	all, gap := s.mirror.Pods(n.Line.Node, time.Now())
	for i := range all {
		n.Pods = append(n.Pods, page.NewPod(&all[i].Pod, served(n.Now, all[i].Gone)))
	}
	if gap != nil {
		n.PodsGap = &page.Gap{Kind: gap.Kind, Words: gap.Words(), Unread: gap.Unread, Since: served(n.Now, gap.Since)}
	}
}

// show serves a page that follows what happens.
func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RequestURI()
	p, l, here, err := s.at(path, true)
	if err != nil {
		m, status := nothing(l, err)
		s.write(w, status, m, &page.Frame{Look: l, Path: path})
		return
	}
	s.write(w, http.StatusOK, p, &page.Frame{Look: l, Path: path, Here: here})
}

// nothing is the page that says why there is no other at a path, with its status.
func nothing(l *page.Look, err error) (*page.Message, int) {
	m := &page.Message{Look: l, Heading: "There is no such page", Text: capital(err.Error()) + ".", Back: "/", BackName: "All nodes"}
	if errors.As(err, new(page.NotKnown)) {
		m.Heading = "Not known yet"
		return m, http.StatusServiceUnavailable
	}
	return m, http.StatusNotFound
}

// write serves a page.
func (s *Server) write(w http.ResponseWriter, status int, p page.Shown, f *page.Frame) {
	var err error
	if f.Main, err = page.Main(p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f.Title, f.Saying = p.Title(), f.Heard(p.Saying())
	if f.Path != "" {
		f.Title, f.AsOf = title(p), asOf(p, f.Look, "as of ")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Write(w, f) // the browser is gone
}

// title is that of a page that follows what happens. It may be all that a person sees of it, so it says
// when something of the page is old.
func title(p page.Shown) string {
	if !p.Live() {
		return "Not live: " + p.Title()
	}
	return p.Title()
}

// asOf is what stands in its header: the time after these words, unless something of the page is old.
func asOf(p page.Shown, l *page.Look, words string) string {
	if !p.Live() {
		return "not all is live: see below"
	}
	return words + l.At(l.Now).Text
}

// say serves a page that says one thing.
func (s *Server) say(w http.ResponseWriter, status int, heading, text, back, backName string) {
	l := s.look()
	s.write(w, status, &page.Message{Look: l, Heading: heading, Text: text, Back: back, BackName: backName}, &page.Frame{Look: l})
}

func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	s.say(w, http.StatusNotFound, "There is no such page", "There is no page "+r.URL.Path+".", "/", "All nodes")
}

// file serves a file of package static.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, static, "static"+r.URL.Path)
}

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
)

const (
	// atMost is the shortest time between two renderings of one page, and idle how long a page
	// stays as it is where nothing happens: its relative times grow.
	atMost = 300 * time.Millisecond
	idle   = 10 * time.Second
)

// news is a page that has changed.
type news struct {
	Title  string `json:"title"`
	Saying string `json:"saying"`
	// Main is the content; empty if only time has passed.
	Main string `json:"main,omitempty"`
	// AsOf is the time of it, for people, or says that not all of it is live.
	AsOf string `json:"asOf,omitempty"`
	// Now is the API server's time of it, for programs.
	Now string `json:"now,omitempty"`
}

// live follows one page: the whole content is sent again whenever it has changed. Of a page that is not seen
// it sends the title, once: that stands in the browser's list of tabs, and a connection for each would leave
// none for the page that is seen.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("unseen") {
		p, l, _, err := s.at(r.URL.Query().Get("page"), false)
		if err != nil {
			p, _ = nothing(l, err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(news{Title: title(p), Saying: l.Heard(p.Saying())}) // the browser is gone
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	changes, end := s.mirror.Changes()
	defer end()
	out := http.NewResponseController(w)
	last, path := "", r.URL.Query().Get("page")
	for {
		began := time.Now()
		n, key, err := s.news(path)
		if err != nil {
			return // the browser says that the connection is lost, and asks again
		}
		if key == last {
			n.Main = ""
		}
		last = key
		text, err := json.Marshal(n)
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", text)
		}
		if err != nil || out.Flush() != nil || !wait(r.Context(), changes, max(atMost, 4*time.Since(began))) {
			return
		}
	}
}

// wait returns after a change, and not before the shortest time is over; false if the browser is
// gone.
func wait(ctx context.Context, changes <-chan struct{}, shortest time.Duration) bool {
	soonest := time.NewTimer(shortest)
	defer soonest.Stop()
	latest := time.NewTimer(idle)
	defer latest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changes:
	case <-latest.C:
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-soonest.C:
		return true
	}
}

// news renders the page, with a key that changes if the page does. Where there is none any more, that
// is the news.
func (s *Server) news(path string) (news, string, error) {
	p, l, _, err := s.at(path, true)
	if err != nil {
		p, _ = nothing(l, err)
	}
	main, err := page.Main(p)
	n := news{Title: title(p), Saying: l.Heard(p.Saying()), Main: string(main), AsOf: asOf(p, l, "live, as of "), Now: l.At(l.Now).Machine}
	return n, n.Title + page.Timeless(main), err
}

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/mirror"
)

// Options are what a server is made of.
type Options struct {
	// Client acts as the person. User is their name, as the API server knows it.
	Client *cluster.Client
	User   string
	// Server is the API server's address, and Context kubectl's name for it; it may be empty.
	Server, Context string
	// Namespace is that of FenceRequests.
	Namespace string
	// Port is the one on 127.0.0.1; 0 takes any that is free.
	Port int
	// Out gets the address, with a token that lets one browser in.
	Out io.Writer
	// Open is called with that address once; nil if nobody wants that. What it returns is called when
	// a browser was let in, and at the end.
	Open func(url string) (forget func())
}

// Server serves the pages.
type Server struct {
	Options
	guard
	mirror *mirror.Mirror

	mu      sync.Mutex
	notices []string

	// reading guards what is read for pages besides what the mirror follows.
	reading sync.Mutex
	source  sourceLease
	events  map[string]nodeEvents
}

// host is the only address that is listened on.
const host = "127.0.0.1"

// Serve serves the pages until ctx is done.
func Serve(ctx context.Context, o Options) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, fmt.Sprint(o.Port)))
	if err != nil {
		return fmt.Errorf("listen on %s port %d: %w; choose another one with --port, or leave it out", host, o.Port, err)
	}
	s := &Server{Options: o, mirror: mirror.New(o.Client).WithReports()}
	s.guard = newGuard(l.Addr().(*net.TCPAddr).Port)
	s.invited = s.invite
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.mirror.Run(ctx) })
	defer wg.Wait()
	defer stop()

	web := &http.Server{ // without a ReadTimeout, which would end what a page follows
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	wg.Go(func() {
		<-ctx.Done()
		_ = web.Close()
	})
	url := s.invitation()
	fmt.Fprintf(o.Out, "The page is at %s\nIt lets in one browser. End it with Ctrl-C.\n", url)
	if o.Open != nil {
		forget := o.Open(url)
		defer forget()
		s.invited = func() {
			forget()
			s.invite()
		}
	}
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// invite prints an address for the next browser.
func (s *Server) invite() {
	fmt.Fprintf(s.Out, "A browser was let in. For another one: %s\n", s.invitation())
}

// handler is everything that is served.
func (s *Server) handler() http.Handler {
	inside := http.NewServeMux()
	for path, f := range map[string]http.HandlerFunc{
		"GET /{$}": s.show, "GET /policies": s.show, "GET /history": s.show, "GET /node/{name}": s.show,
		"GET /live": s.live, "GET /do/{verb}/{name}": s.ask, "POST /do/{verb}/{name}": s.do,
		"GET /style.css": s.file, "GET /live.js": s.file, "GET /icon.svg": s.file, "GET /": s.nowhere,
	} {
		inside.HandleFunc(path, f)
	}
	return s.guarded(inside)
}

// noticed keeps what the person did, and returns the number under which the next page finds it.
func (s *Server) noticed(words string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, words)
	return len(s.notices)
}

// notice is what the person did under that number; empty if nothing.
func (s *Server) notice(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.notices) {
		return ""
	}
	return s.notices[n-1]
}

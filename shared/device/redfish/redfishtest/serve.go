package redfishtest

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// Break is how a BMC's connections go wrong.
type Break string

// The ways in which they do.
const (
	Whole Break = ""
	// Hang accepts requests and answers none.
	Hang Break = "hang"
	// CutBefore ends the connection and does nothing.
	CutBefore Break = "cut-before"
	// CutAfter carries out the request and ends the connection without an answer.
	CutAfter Break = "cut-after"
	// CutWithin carries out the request and ends the connection in the middle of the
	// answer.
	CutWithin Break = "cut-within"
)

// Breaks makes all requests go wrong from now on, or only some, by "METHOD path".
func (b *BMC) Breaks(how Break, only ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken, b.brokenFor = how, only
}

// breaks reports whether it has handled the request.
func (b *BMC) breaks(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	how, gone := b.broken, b.gone
	if len(b.brokenFor) > 0 && !slices.Contains(b.brokenFor, r.Method+" "+r.URL.Path) {
		how = Whole
	}
	b.mu.Unlock()
	switch how {
	case Hang:
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)) // only after this read does the server see that the client has gone
		select {
		case <-r.Context().Done():
		case <-gone:
		}
		panic(http.ErrAbortHandler) // otherwise a client that is hanging up would get a 200
	case CutBefore:
		panic(http.ErrAbortHandler)
	case CutAfter:
		b.answer(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case CutWithin:
		rec := httptest.NewRecorder()
		b.answer(rec, r)
		half(w, rec)
		panic(http.ErrAbortHandler)
	}
	return how != Whole
}

// half is the part of an answer that is sent.
func half(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	for name, v := range rec.Header() {
		w.Header()[name] = v
	}
	whole := rec.Body.Bytes()
	if len(whole) == 0 {
		whole = bytes.Repeat([]byte(" "), 2) // so that something is missing
		rec.Code = http.StatusOK
	}
	w.Header().Set("Content-Length", "1000000")
	w.WriteHeader(rec.Code)
	_, _ = w.Write(whole[:len(whole)/2])
	_ = http.NewResponseController(w).Flush() // a client that has gone hears nothing
}

// Serve answers on the loopback with a certificate until t ends, and returns the address.
func (b *BMC) Serve(t testing.TB, cert tls.Certificate) (host, port string) {
	t.Helper()
	return b.start(t, b.unstarted(t), cert)
}

// ServeOn does so on the caller's listener.
func (b *BMC) ServeOn(t testing.TB, l net.Listener, cert tls.Certificate) (host, port string) {
	t.Helper()
	srv := b.unstarted(t)
	_ = srv.Listener.Close() // no client knows the address yet
	srv.Listener = l
	return b.start(t, srv, cert)
}

func (b *BMC) start(t testing.TB, srv *httptest.Server, cert tls.Certificate) (host, port string) {
	t.Helper()
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	return split(t, srv)
}

// ServePlain does so without TLS, which no BMC should do.
func (b *BMC) ServePlain(t testing.TB) (host, port string) {
	t.Helper()
	srv := b.unstarted(t)
	srv.Start()
	return split(t, srv)
}

func (b *BMC) unstarted(t testing.TB) *httptest.Server {
	gone := make(chan struct{})
	b.mu.Lock()
	b.gone = gone
	b.mu.Unlock()
	srv := httptest.NewUnstartedServer(b)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that don't trust it are what is tested
	t.Cleanup(func() { close(gone); srv.Close() })
	return srv
}

func split(t testing.TB, srv *httptest.Server) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

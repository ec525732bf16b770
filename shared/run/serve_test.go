package run_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nodefence/nodefence/shared/run"
)

func TestMux(t *testing.T) {
	var notReady error
	detail := ""
	mux := run.Mux(run.HTTP(silent, quiet()), run.Probes{
		Ready:   func(context.Context) error { return notReady },
		Detail:  func() string { return detail },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
	})
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	check := func(path string, status int, body string) {
		t.Helper()
		if s, b := get(path); s != status || b != body {
			t.Errorf("%s: got %d %q, want %d %q", path, s, b, status, body)
		}
	}
	check("/readyz", 200, "ok\n")
	detail = "a CRD is missing"
	check("/readyz", 200, "ok\na CRD is missing\n")
	notReady = errors.New("api server not reached")
	check("/readyz", 503, "api server not reached\n")
	check("/healthz", 200, "ok\n")
	check("/metrics", 200, "up 1\n")
	check("/", 405, "only POST / takes events\n")
	if w := post(mux, binaryHeaders(nil), "{}"); w.Code != http.StatusAccepted {
		t.Errorf("event through the mux: %d %s", w.Code, w.Body)
	}
}

func TestServeEndsTheRunningRequestBeforeItReturns(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	inside, finish := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		<-finish
		if r.Context().Err() == nil {
			_, _ = io.WriteString(w, "done")
		}
	})
	served, answered := make(chan error, 1), make(chan string, 1)
	go func() { served <- run.ServeListener(ctx, l, h) }()
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answered <- string(b)
	}()
	<-inside
	stop()
	for err == nil { // the listener closes first
		var c net.Conn
		if c, err = net.Dial("tcp", l.Addr().String()); err == nil {
			_ = c.Close()
		}
	}
	select {
	case err := <-served:
		t.Fatalf("returned (%v) while a request ran", err)
	default:
	}
	close(finish)
	if got := <-answered; got != "done" {
		t.Errorf("got %q", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeNamesTheAddressItCannotHave(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := run.Serve(t.Context(), l.Addr().String(), http.NotFoundHandler()); err == nil {
		t.Error("served on an address in use")
	}
}

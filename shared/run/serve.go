package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of Serve. An event's work may take as long as a few device calls; reading an
// event may not, or idle connections would hold the server open.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 30 * time.Second
	maxHeader         = 64 << 10
)

// Serve serves on addr until ctx ends. Then it accepts no more requests, and waits for
// running ones at most half a minute.
func Serve(ctx context.Context, addr string, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ServeListener(ctx, l, h)
}

// ServeListener is like Serve, on an open listener, which it closes.
func ServeListener(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Requests outlive ctx: its end starts a drain and aborts no request.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := s.Shutdown(limit)
	if err != nil {
		err = fmt.Errorf("drain http: %w", errors.Join(err, s.Close()))
	}
	<-failed
	return err
}

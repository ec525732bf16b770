package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of Serve. An event's work may take as long as an invocation; reading an event may
// not, or idle connections would hold the server open.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeader         = 64 << 10
	// usual is how long one invocation takes at most, unless the caller says otherwise.
	usual = time.Minute
	// afterCall is the part of an invocation that a drain does not wait for: what comes before
	// and after a device call, but for some seconds to save its end.
	afterCall = 30 * time.Second
)

// Serve serves on addr until ctx ends. Then it accepts no more requests, and waits for
// running ones at most half a minute.
func Serve(ctx context.Context, addr string, h http.Handler) error {
	return ServeFor(ctx, usual, addr, h)
}

// ServeFor is like Serve, for invocations that take so long at most. It waits for running ones
// until the longest device call among them has ended.
func ServeFor(ctx context.Context, invocation time.Duration, addr string, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return serve(ctx, invocation, l, h)
}

// ServeListener is like Serve, on an open listener, which it closes.
func ServeListener(ctx context.Context, l net.Listener, h http.Handler) error {
	return serve(ctx, usual, l, h)
}

func serve(ctx context.Context, invocation time.Duration, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      2 * invocation,
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
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), invocation-afterCall)
	defer cancel()
	err := s.Shutdown(limit)
	if err != nil {
		err = fmt.Errorf("drain http: %w", errors.Join(err, s.Close()))
	}
	<-failed
	return err
}

package plane

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// idlePerHost keeps connections open between the programs, as they would
// themselves.
const idlePerHost = 100

// newProxy passes on what is sent to it as an HTTP proxy. The URL, and with it
// the Host header that Knative routes by, stays as it is.
func newProxy(n *names) *http.Server {
	transport := &http.Transport{
		DialContext: n.dial, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: time.Minute,
		DisableCompression: true,
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = r.In.URL, r.In.Host
		},
		Transport:    transport,
		ErrorHandler: breakOff,
		ErrorLog:     log.New(io.Discard, "", 0), // aborted copies: the programs log their side
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "" {
			http.Error(w, "this is a proxy: ask it for http://NAME.NAMESPACE"+clusterDomain, http.StatusBadRequest)
			return
		}
		p.ServeHTTP(w, r)
	})
	n.changed = transport.CloseIdleConnections // or events would go where they went before
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	s.RegisterOnShutdown(transport.CloseIdleConnections)
	return s
}

// breakOff ends the connection without an answer, as one to a process that is
// dead or dies would end. A 502 would be an answer that nobody gave.
func breakOff(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }

// relay passes every connection of a listener on, until the listener is closed.
func relay(l net.Listener, dial backend) {
	for {
		in, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		go func() {
			defer func() { _ = in.Close() }()
			out, err := dial(context.Background())
			if err != nil {
				return
			}
			defer func() { _ = out.Close() }()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.Close() // unblocks the other direction
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}

// toAddress connects to an address outside the namespaces.
func toAddress(addr string) backend {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", addr)
	}
}

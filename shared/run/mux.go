package run

import (
	"context"
	"io"
	"net/http"
)

// Probes are what a program answers besides events.
type Probes struct {
	// Ready says what is missing until events can be taken; nil is always ready.
	Ready func(ctx context.Context) error
	// Metrics serves /metrics; nil leaves the path out. It is a plain handler,
	// so that this package need not know the library behind it.
	Metrics http.Handler
}

// Mux puts /healthz, /readyz and /metrics beside events, which may be nil.
// Health says only that the process answers: a broken dependency must not have
// every replica restarted.
func Mux(events http.Handler, p Probes) *http.ServeMux {
	mux := http.NewServeMux()
	if events != nil {
		mux.Handle("/", events)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if p.Ready != nil {
			if err := p.Ready(r.Context()); err != nil {
				refuse(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	if p.Metrics != nil {
		mux.Handle("/metrics", p.Metrics)
	}
	return mux
}

package run

import (
	"context"
	"io"
	"net/http"
)

// Probes are what a program answers besides events.
type Probes struct {
	// Live says what only a restart of the process can repair; nil is always live.
	Live func(ctx context.Context) error
	// Ready says what is missing until events can be accepted; nil is always ready.
	Ready func(ctx context.Context) error
	// Detail says what is switched on and can't work yet, though events can be accepted; empty, or
	// nil, if all can.
	Detail func() string
	// Metrics serves /metrics; without it there is no such path. It is a plain handler, so
	// that this package does not depend on the library behind it.
	Metrics http.Handler
}

// Mux serves /healthz, /readyz and /metrics beside events, which may be nil. Health is only
// about this process itself: a broken dependency must not make every replica restart.
func Mux(events http.Handler, p Probes) *http.ServeMux {
	mux := http.NewServeMux()
	if events != nil {
		mux.Handle("/", events)
	}
	mux.HandleFunc("/healthz", probe(p.Live, nil))
	mux.HandleFunc("/readyz", probe(p.Ready, p.Detail))
	if p.Metrics != nil {
		mux.Handle("/metrics", p.Metrics)
	}
	return mux
}

// probe answers 503 with what is wrong.
func probe(ask func(ctx context.Context) error, detail func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if ask != nil {
			if err := ask(r.Context()); err != nil {
				refuse(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		words := "ok\n"
		if detail != nil {
			if more := detail(); more != "" {
				words += more + "\n"
			}
		}
		_, _ = io.WriteString(w, words)
	}
}

package run

import (
	"context"
	"io"
	"net/http"
)

// Probes are what a program answers besides events.
type Probes struct {
	// Live says what only a new start of the process can mend; nil is always live.
	Live func(ctx context.Context) error
	// Ready says what is missing until events can be taken; nil is always ready.
	Ready func(ctx context.Context) error
	// Metrics serves /metrics; nil leaves the path out. It is a plain handler,
	// so that this package need not know the library behind it.
	Metrics http.Handler
}

// Mux puts /healthz, /readyz and /metrics beside events, which may be nil.
// Health says only what is of this process itself: a broken dependency must not have
// every replica restarted.
func Mux(events http.Handler, p Probes) *http.ServeMux {
	mux := http.NewServeMux()
	if events != nil {
		mux.Handle("/", events)
	}
	mux.HandleFunc("/healthz", probe(p.Live))
	mux.HandleFunc("/readyz", probe(p.Ready))
	if p.Metrics != nil {
		mux.Handle("/metrics", p.Metrics)
	}
	return mux
}

// probe answers 503 with what is wrong.
func probe(ask func(ctx context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if ask != nil {
			if err := ask(r.Context()); err != nil {
				refuse(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}

package tracing

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// guard keeps a panic in the work on spans from the invocation, which has handled its event. It is
// counted as a span that is dropped, and logged the first time.
type guard struct {
	log     *slog.Logger
	dropped prometheus.Counter
	once    sync.Once
}

func (g *guard) do(work func()) {
	defer func() {
		if r := recover(); r != nil {
			g.dropped.Inc()
			g.once.Do(func() {
				g.log.Error("a span could not be made; no fence waits for it", "error", fmt.Sprint(r), "stack", string(debug.Stack()))
			})
		}
	}()
	work()
}

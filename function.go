// Package function lets Knative's `func` build this repository as a function.
package function

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/metrics"
	"github.com/nodefence/nodefence/shared/run/sink"
)

// Function serves the function that its environment names.
type Function struct {
	parts  functions.Parts
	handle run.Handler
	err    error
}

// New reads the environment and connects. `func` gives New no way to fail, so Start returns
// its error.
func New() *Function {
	f := &Function{}
	f.err = f.connect(context.Background(), run.NewLog(os.Stderr, slog.LevelInfo))
	return f
}

func (f *Function) connect(ctx context.Context, log *slog.Logger) error {
	var s struct {
		functions.Settings
		sink.Options
	}
	if err := run.Environment(&s); err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	metrics.Register(prometheus.DefaultRegisterer)
	if f.parts, err = functions.NewParts(ctx, s.Settings, cfg, log, prometheus.DefaultRegisterer); err != nil {
		return err
	}
	if s.Sink != "" {
		if f.parts.Sender, err = sink.New(s.Options); err != nil {
			return err
		}
	}
	served, err := functions.Serve(f.parts)
	if err != nil {
		return err
	}
	tellWhatIsNotHere(s.Settings, s.Sink, len(served.Clocks), log)
	f.handle = run.Result(served.Handle, s.InvocationTimeout(), log)
	return nil
}

// tellWhatIsNotHere says in the log what this program does not do by itself, or not at all.
func tellWhatIsNotHere(s functions.Settings, sink string, clocks int, log *slog.Logger) {
	if clocks > 0 {
		log.Info("func runs no clock: what acts by one does so only when a PingSource calls this Service (infra/knative/README.md, With func)")
	}
	if s.Function == "" && sink == "" {
		log.Warn("K_SINK is not set; there is no resync, and what the broker loses waits for the source: bind this Service to the broker by a SinkBinding")
	}
	if s.Direct != "" {
		log.Warn("NODEFENCE_DIRECT is not used here: a Service with all functions calls them in itself, and one with resync alone sends through the broker")
	}
}

// Start returns the error of New. The process then ends and is restarted.
func (f *Function) Start(context.Context, map[string]string) error { return f.err }

// Stop sends the spans that wait.
func (f *Function) Stop(context.Context) error {
	f.parts.Traces.Close()
	return nil
}

// Ready reports whether the API server answers.
func (f *Function) Ready(ctx context.Context) (bool, error) {
	if f.err != nil {
		return false, f.err
	}
	err := f.parts.Client.Ready(ctx)
	return err == nil, err
}

// Handle handles one event.
func (f *Function) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.handle(ctx, e)
}

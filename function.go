// Package function is what Knative's `func` builds: the few lines by which this
// repository is a function.
package function

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/kelseyhightower/envconfig"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run"
)

// Function serves the function that its environment names.
type Function struct {
	handle run.Handler
	err    error
}

// New reads the environment and connects. What is wrong is told at every event,
// because `func` gives New no way to fail.
func New() *Function {
	h, err := connect(context.Background())
	return &Function{handle: h, err: err}
}

func connect(ctx context.Context) (run.Handler, error) {
	var s functions.Settings
	if err := envconfig.Process("", &s); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	parts, err := functions.NewParts(ctx, s, cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil)), prometheus.DefaultRegisterer)
	if err != nil {
		return nil, err
	}
	return functions.Handler(parts)
}

// Handle takes one event.
func (f *Function) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.handle(ctx, e)
}

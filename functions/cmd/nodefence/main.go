// Command nodefence serves one function, or all by event type, over HTTP as
// Knative calls it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/kelseyhightower/envconfig"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("nodefence serves one function of nodefence over HTTP. It is configured by its environment:")
		_ = envconfig.Usage("", &functions.Settings{})
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "nodefence: %v\n", err)
		os.Exit(1)
	}
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s functions.Settings
	if err := envconfig.Process("", &s); err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	reg := prometheus.NewRegistry()
	parts, err := functions.NewParts(ctx, s, cfg, log, reg)
	if err != nil {
		return err
	}
	h, err := functions.Handler(parts)
	if err != nil {
		return err
	}
	return run.Serve(ctx, fmt.Sprintf(":%d", s.Port), run.Mux(run.HTTP(h, run.HTTPOptions{Logger: log}), run.Probes{
		Ready: parts.Client.Ready, Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
	}))
}

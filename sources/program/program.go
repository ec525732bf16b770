package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/metrics"
)

// Main runs a program until it ends or a signal stops it.
func Main(name string, start func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Read reads the settings of a program without arguments from its environment. It returns
// Helped if help was asked for, and printed.
func Read(name, usage string, args []string, out io.Writer, settings any) (helped bool, err error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprint(out, usage) }
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return true, nil
	case err != nil:
		return false, err
	case fs.NArg() > 0:
		return false, fmt.Errorf("unexpected argument %q; see --help", fs.Arg(0))
	}
	return false, run.Environment(settings)
}

// Source returns the source of a program's events: the cluster name that is set, or the
// cluster that the program reaches.
func Source(ctx context.Context, client *kube.Client, cluster string) (events.Source, string, error) {
	if cluster == "" {
		var err error
		if cluster, err = client.ClusterID(ctx); err != nil {
			return "", "", err
		}
	}
	return events.SourceOf(cluster), cluster, nil
}

// Identity tells this process from its standbys.
func Identity(name string) string {
	host, err := os.Hostname()
	if err != nil {
		host = name
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// Registry returns a registry with the metrics that every process has.
func Registry() *prometheus.Registry {
	reg := metrics.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// Probes serves a source's /healthz, /readyz and /metrics. detail is what /readyz says of a source that
// is ready, though a part of its settings cannot be used; empty if all can.
func Probes(reg *prometheus.Registry, ready func() error, detail string) http.Handler {
	return run.Mux(nil, run.Probes{
		Ready:   func(context.Context) error { return ready() },
		Detail:  func() string { return detail },
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
	})
}

// Serve runs a source and its HTTP server until ctx or one of the two ends.
func Serve(ctx context.Context, listen string, answers http.Handler, source func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- run.Serve(ctx, listen, answers) }()
	go func() { ended <- source(ctx) }()
	first := <-ended
	stop() // one without the other is of no use
	return errors.Join(unlessCanceled(first), unlessCanceled(<-ended))
}

func unlessCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Command nodefence-kdump hears the kdump messages of a cluster's machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/kelseyhightower/envconfig"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/eks"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/sink"
	"github.com/nodefence/nodefence/sources/kdump"
)

const usage = `nodefence-kdump hears what machines send while they write the memory of their
crashed kernel away (fence_kdump_send), and writes down in namespace
nodefence-kdump of which node it came. Any number of replicas may run.

It takes no arguments. It is configured by its environment:

  NODEFENCE_KDUMP       address that messages are heard at, by UDP (:7410)
  K_SINK                URL that events are posted to, such as a Broker's. Without it
                        none are sent, and a fence sees a dump when it next looks
  K_CE_OVERRIDES        {"extensions":{"name":"value"}}, added to every event
  K_CA_CERTS            certificates in PEM that an https sink is trusted by, besides
                        the system's and those in /knative-custom-certs
  NODEFENCE_TOKEN_FILE  file with the token that the sink asks for, read before each
                        send; none is sent if there is no such file (/oidc/token)
  NODEFENCE_CLUSTER     this cluster's name in events (the UID of namespace kube-system)
  KUBECONFIG            file that says how to reach the cluster (in a pod its own account)
  NODEFENCE_EKS_CLUSTER instead of KUBECONFIG: name of an EKS cluster, reached as this
                        process's IAM role, with NODEFENCE_EKS_ENDPOINT (URL) and
                        NODEFENCE_EKS_CA (PEM in base64)
  LISTEN                address of /healthz, /readyz and /metrics (:8080)

Its log is JSON on standard error.
`

type settings struct {
	sink.Options
	EKS        eks.Cluster
	Kdump      string `envconfig:"NODEFENCE_KDUMP" default:":7410"`
	Cluster    string `envconfig:"NODEFENCE_CLUSTER"`
	Kubeconfig string `envconfig:"KUBECONFIG"`
	Listen     string `envconfig:"LISTEN" default:":8080"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "nodefence-kdump: %v\n", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("nodefence-kdump", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprint(out, usage) }
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", fs.Arg(0))
	}
	var s settings
	if err := envconfig.Process("", &s); err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	o := kdump.Options{Log: slog.New(slog.NewJSONHandler(out, nil))}
	if s.Sink != "" {
		s.TrustBundles = sink.TrustBundles
		to, err := sink.New(s.Options)
		if err != nil {
			return err
		}
		o.Sender = to
	}
	cfg, err := s.EKS.Or(ctx, s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("find the cluster (set KUBECONFIG): %w", err)
	}
	return serve(ctx, s, cfg, o)
}

func serve(ctx context.Context, s settings, cfg *rest.Config, o kdump.Options) error {
	client, err := kube.New(cfg)
	if err != nil {
		return err
	}
	if s.Cluster == "" {
		if s.Cluster, err = client.ClusterID(ctx); err != nil {
			return err
		}
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.Cluster, o.Source, o.Registerer = client, events.SourceOf(s.Cluster), reg
	l, err := kdump.New(o)
	if err != nil {
		return err
	}
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", s.Kdump)
	if err != nil {
		return fmt.Errorf("hear messages at NODEFENCE_KDUMP: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mux := run.Mux(nil, run.Probes{
		Ready:   func(context.Context) error { return l.Ready() },
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
	})
	o.Log.Info("running", "cluster", s.Cluster, "kdump", conn.LocalAddr().String(), "listen", s.Listen)
	ended := make(chan error, 2)
	go func() { ended <- run.Serve(ctx, s.Listen, mux) }()
	go func() { ended <- l.Run(ctx, conn) }()
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

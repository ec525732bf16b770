// Command nodefence-source watches a cluster and sends events about failed nodes
// and due fences to a broker.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/eks"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/sink"
	"github.com/nodefence/nodefence/shared/tracing"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/program"
)

const usage = `nodefence-source watches a cluster's nodes, their Leases and the NodeFences, and
sends events about what failed and what is due to a broker. Any number of
replicas may run; one of them sends.

It takes no arguments. It is configured by its environment:

  K_SINK                URL that events are posted to, such as a Broker's
  NODEFENCE_BUS         name or ARN of the EventBridge bus that events are put on,
                        instead of K_SINK: one of the two is required. The AWS SDK's
                        own variables, such as AWS_REGION, say how it is reached
  K_CE_OVERRIDES        {"extensions":{"name":"value"}}, added to every event
  K_CA_CERTS            certificates in PEM that an https sink is trusted by, besides
                        the system's and those in /knative-custom-certs
  NODEFENCE_TOKEN_FILE  file with the token that the sink asks for, read before each
                        send; none is sent if there is no such file (/oidc/token)
  NODEFENCE_NAMESPACE   namespace of the leader Lease and the enrolments (nodefence-system)
  NODEFENCE_REQUEST_NAMESPACES namespaces, by commas, whose FenceRequests are watched
                        (nodefence-system)
  NODEFENCE_CLUSTER     this cluster's name in events (the UID of namespace kube-system)
  NODEFENCE_CHECK_INTERVAL how often each node's devices are read while nothing has
                        failed, for its FenceTarget (10m; 0 never)
  KUBECONFIG            file that says how to reach the cluster (in a pod its own account)
  NODEFENCE_EKS_CLUSTER instead of KUBECONFIG: name of an EKS cluster, reached as this
                        process's IAM role, with NODEFENCE_EKS_ENDPOINT (URL) and
                        NODEFENCE_EKS_CA (PEM in base64)
  LISTEN                address of /healthz, /readyz and /metrics (:8080)
  POD_NAME              name of this replica (host name and process ID)
  OTEL_EXPORTER_OTLP_ENDPOINT  URL of a collector that takes spans by OTLP over HTTP
                        (none: no traces); infra/observability has OpenTelemetry's
                        other variables that are heeded

A Knative SinkBinding sets K_SINK, K_CE_OVERRIDES and K_CA_CERTS, and mounts
/oidc/token and /knative-custom-certs.

Its log is JSON on standard error. When it loses the leader Lease, it stands by
for its next turn.
`

type settings struct {
	sink.Options
	EKS       eks.Cluster
	Bus       string `envconfig:"NODEFENCE_BUS"`
	Namespace string `envconfig:"NODEFENCE_NAMESPACE" default:"nodefence-system"`
	// RequestNamespaces are those whose FenceRequests are watched.
	RequestNamespaces ask.Namespaces `envconfig:"NODEFENCE_REQUEST_NAMESPACES" default:"nodefence-system"`
	Cluster           string         `envconfig:"NODEFENCE_CLUSTER"`
	// CheckEvery is the interval in which each device of a node is read; 0 is never.
	CheckEvery apiserver.CheckInterval `envconfig:"NODEFENCE_CHECK_INTERVAL" default:"10m"`
	Kubeconfig string                  `envconfig:"KUBECONFIG"`
	Listen     string                  `envconfig:"LISTEN" default:":8080"`
	Identity   string                  `envconfig:"POD_NAME"`
	// Traces are OpenTelemetry's own variables.
	Traces tracing.Settings
}

const name = "nodefence-source"

func main() { program.Main(name, start) }

func start(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	if helped, err := program.Read(name, usage, args, out, &s); helped || err != nil {
		return err
	}
	sender, err := s.sender(ctx)
	if err != nil {
		return err
	}
	cfg, err := s.EKS.Or(ctx, s.Kubeconfig)
	if err != nil {
		return kube.NoCluster("KUBECONFIG", err)
	}
	return serve(ctx, s, cfg, sender, run.NewLog(out, slog.LevelInfo))
}

func serve(ctx context.Context, s settings, cfg *rest.Config, sender outbox.Sender, log *slog.Logger) error {
	client, err := kube.New(cfg)
	if err != nil {
		return err
	}
	source, cluster, err := program.Source(ctx, client, s.Cluster)
	if err != nil {
		return err
	}
	reg := program.Registry()
	traces, fault := tracing.New(ctx, s.Traces, name, source, log, reg)
	defer traces.Close()
	src, err := apiserver.New(apiserver.Options{
		Config: cfg, Client: client, Sender: sender, Logger: log, Source: source,
		Namespace: s.Namespace, Identity: identity(s), Elect: true, Registerer: reg, CheckEvery: time.Duration(s.CheckEvery),
		RequestNamespaces: s.RequestNamespaces, Traces: traces,
	})
	if err != nil {
		return err
	}
	log.Info("running", "cluster", cluster, "sink", fmt.Sprint(sender), "listen", s.Listen)
	return program.Serve(ctx, s.Listen, program.Probes(reg, src.Ready, fault), src.Run)
}

func identity(s settings) string {
	if s.Identity != "" {
		return s.Identity
	}
	return program.Identity(name)
}

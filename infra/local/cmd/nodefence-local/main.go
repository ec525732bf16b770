// Command nodefence-local runs all of nodefence in one process against any
// cluster.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/probe"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/sources/program"
)

const usage = `nodefence-local fences failed nodes of a cluster, all in one process.

usage: nodefence-local [flags]

  nodefence-local --kubeconfig ~/.kube/config --data-dir /var/lib/nodefence

It answers POST / with CloudEvents, /healthz, /readyz and /metrics. Its log is
JSON on standard error, one line a decision. Ctrl-C ends it; what it was doing
goes on where it stood when it is started again.

What has no flag is set as for nodefence (nodefence --help says what each is):
GCE_METADATA_HOST, NODEFENCE_AGENTS_DIR, NODEFENCE_CHECK_DENIED_INTERVAL,
NODEFENCE_CLUSTER, NODEFENCE_DEVICE_CALL_TIMEOUT, NODEFENCE_INVOCATION_TIMEOUT,
NODEFENCE_JOBS_NAMESPACE, NODEFENCE_JOB_IMAGES, NODEFENCE_KUBELET_PORT,
NODEFENCE_NEIGHBORS_IMAGE, NODEFENCE_NODE_NETWORKS, NODEFENCE_REMEDIATION_LEASES,
NODE_NAME, OTEL_EXPORTER_OTLP_ENDPOINT.

It never fences the node that it runs on: NODE_NAME, or none where it runs on no
node of the cluster. Without NODE_NAME that is this machine's host name; in a pod
NODE_NAME is required.

flags:
`

const name = "nodefence-local"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reach" { // as activityChecks of type Neighbors run the image
		code, words := probe.Command(context.Background(), os.Args[2:], os.Getenv(probe.HostIP))
		fmt.Println(words)
		os.Exit(code)
	}
	program.Main(name, start)
}

func start(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	if err := run.Environment(&s); err != nil {
		return err
	}
	fs := s.flags(out)
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", fs.Arg(0))
	}
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the host name: %w", err)
	}
	if s.Self, err = self(s.Self, strings.ToLower(host), s.Kubeconfig == ""); err != nil {
		return err
	}
	log := run.NewLog(out, level)
	return serve(ctx, s, log)
}

// self is the node that this process runs on, empty if there is none (S13: never its own
// machine). A Node usually has its machine's host name; a pod has a host name of its own.
func self(given, host string, inPod bool) (string, error) {
	switch {
	case given == functions.NoNode:
		return "", nil
	case given == "" && inPod:
		return "", errors.New("NODE_NAME is not set: it is the node that this process runs on, which this process never fences. " +
			"Set it by the downward API (fieldRef: spec.nodeName), or to none")
	}
	return cmp.Or(given, host), nil
}

// settings are the functions', and the source's.
type settings struct {
	functions.Settings
	CheckEvery apiserver.CheckInterval `envconfig:"NODEFENCE_CHECK_INTERVAL" default:"10m"`
	// Accounts is the namespace of the ServiceAccounts nodefence-<function>; empty for the process's own account alone.
	Accounts string `envconfig:"NODEFENCE_ACCOUNTS_NAMESPACE"`
	// These have flags alone.
	dir, listen, probes, requests, triggers, outward string
	verbose                                          bool
}

// flags are the program's flags, which set s.
func (s *settings) flags(out io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprint(out, usage); fs.PrintDefaults() }
	fs.StringVar(&s.Kubeconfig, "kubeconfig", s.Kubeconfig, "`file` that says how to reach the cluster (KUBECONFIG; in a pod its own account)")
	fs.StringVar(&s.dir, "data-dir", "nodefence-data", "`folder` for the broker's events")
	fs.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	fs.StringVar(&s.probes, "listen-probes", "", "`address` that serves /healthz, /readyz and /metrics and takes no events, for a pod (default: none)")
	fs.StringVar(&s.requests, "listen-requests", "", "`address` that takes events that ask for a fence, each by a token of its own, from senders that need not be trusted (default: none)")
	fs.StringVar(&s.outward, "outward-triggers", "", "`file` of Knative Triggers of your own, each with the URI of a subscriber outside of this process, which gets the events that pass; it need not exist (default: none)")
	fs.StringVar(&s.triggers, "triggers", "", "`file` of Knative Triggers to route by (default: the ones nodefence comes with)")
	fs.TextVar(&s.CheckEvery, "check-interval", s.CheckEvery, "how often each node's devices are read while nothing has failed, as in `30m`; 0 never (NODEFENCE_CHECK_INTERVAL)")
	fs.BoolVar(&s.verbose, "v", false, "log more")
	fs.StringVar(&s.Accounts, "accounts-namespace", s.Accounts, "`namespace` of the ServiceAccounts nodefence-<function>, as which the functions act, by impersonation (NODEFENCE_ACCOUNTS_NAMESPACE; by default all act as this process's own account)")
	fs.StringVar(&s.Namespace, "namespace", s.Namespace, "`namespace` of the fence-config ConfigMaps (NODEFENCE_NAMESPACE)")
	fs.StringVar(&s.ChecksNamespace, "checks-namespace", s.ChecksNamespace, "`namespace` of the activity checks' Jobs (NODEFENCE_CHECKS_NAMESPACE)")
	fs.Func("request-namespaces", "`namespaces`, by commas, whose FenceRequests count (NODEFENCE_REQUEST_NAMESPACES; nodefence-system by default)", s.RequestNamespaces.Decode)
	fs.Func("adopt", "`kinds` of other projects' objects, by commas, that are answered as they are: far, mhc (NODEFENCE_ADOPT; none by default)", s.Adopt.Decode)
	fs.Func("adopt-namespaces", "`namespaces`, by commas, whose objects are adopted (NODEFENCE_ADOPT_NAMESPACES; by default those of --request-namespaces for far, openshift-machine-api for OpenShift's mhc, none for Cluster API's)", s.AdoptNamespaces.Decode)
	fs.StringVar(&s.MachinesKubeconfig, "machines-kubeconfig", s.MachinesKubeconfig, "kubeconfig `file` of the cluster that has this cluster's Machines and MachineHealthChecks (NODEFENCE_MACHINES_KUBECONFIG; by default this cluster)")
	fs.Func("machines-cluster", "the `Cluster` of Cluster API there that is this cluster, as namespace/name (NODEFENCE_MACHINES_CLUSTER)", s.MachinesCluster.Decode)
	fs.StringVar(&s.SecretsNamespace, "secrets-namespace", s.SecretsNamespace, "`namespace` of the devices' Secrets (NODEFENCE_SECRETS_NAMESPACE)")
	return fs
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return kube.NoCluster("--kubeconfig", err)
	}
	l, err := local.New(ctx, local.Options{
		Config: cfg, DataDir: s.dir, Triggers: s.triggers, OutwardTriggers: s.outward, Settings: s.Settings, Log: log, Elect: true, CheckEvery: time.Duration(s.CheckEvery), Accounts: s.Accounts,
	})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	log.Info("running", "cluster", cfg.Host, "listen", s.listen, "data", s.dir)
	return s.serveAll(ctx, l)
}

// serveAll serves events, and what has an address of its own, for as long as nodefence runs.
func (s *settings) serveAll(ctx context.Context, l *local.Local) error {
	runs := func(ctx context.Context) error { return program.Serve(ctx, s.listen, l.HTTP(), l.Run) }
	for _, further := range []struct {
		address string
		answers http.Handler
	}{{s.requests, l.Requests()}, {s.probes, l.Probes()}} {
		if inner := runs; further.address != "" {
			runs = func(ctx context.Context) error { return program.Serve(ctx, further.address, further.answers, inner) }
		}
	}
	return runs(ctx)
}

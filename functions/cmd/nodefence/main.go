// Command nodefence serves one function, or all by event type: over HTTP as Knative calls
// it, or on AWS Lambda if Lambda has started it.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/resync"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/eks"
	"github.com/nodefence/nodefence/shared/probe"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/lambda"
	"github.com/nodefence/nodefence/shared/run/metrics"
	"github.com/nodefence/nodefence/shared/run/sink"
)

const usage = `nodefence serves one function of nodefence, or all of them by event type: over
HTTP as Knative calls it, or on AWS Lambda where that has started it.

nodefence reach host:port [other:port...] connects to a machine and does nothing
else: exit 0 if it answers, 1 if it is silent while another answers, 2 if that
can't be told. The neighbors of activityChecks run it.

nodefence agent [given accepted said] makes the one call that stands in a file by a
fence agent, for some seconds from when a folder was made, and leaves what came of it
in another file. The pods of driver job run it, with /nodefence/given/call,
/nodefence/accepted and /dev/termination-log.

It takes no other arguments. It is configured by its environment:

  NODEFENCE_FUNCTION           adopt, cleanup, deadletter, gate, isolate, policystatus, power,
                               recover, request or resync (all)
  NODEFENCE_NAMESPACE          namespace of the fence-config ConfigMaps (nodefence-system)
  NODEFENCE_SECRETS_NAMESPACE  namespace of the devices' Secrets (nodefence-devices)
  NODEFENCE_CHECKS_NAMESPACE   namespace of the activity checks' Jobs (nodefence-checks)
  NODEFENCE_REQUEST_NAMESPACES namespaces, by commas, whose FenceRequests count; read by gate,
                               request and resync, with far in NODEFENCE_ADOPT by adopt,
                               isolate and power too (nodefence-system)
  NODEFENCE_ADOPT              kinds of other projects' objects, by commas, that are answered as
                               they are: far, FenceAgentsRemediations, read by adopt, gate,
                               isolate and power; mhc, MachineHealthChecks, read by
                               policystatus (none)
  NODEFENCE_ADOPT_NAMESPACES   namespaces, by commas, whose objects are adopted; read by the same
                               (of far all of NODEFENCE_REQUEST_NAMESPACES, and never another one;
                               of mhc openshift-machine-api for OpenShift's kind, none for Cluster
                               API's)
  NODEFENCE_MACHINES_KUBECONFIG  kubeconfig file of the cluster that has this cluster's Machines
                               and MachineHealthChecks (this cluster); read by gate, isolate,
                               power, policystatus and resync
  NODEFENCE_MACHINES_CLUSTER   the Cluster of Cluster API there that is this cluster, as
                               namespace/name; no Machine of another one counts
  NODEFENCE_NODE_NETWORKS      networks of the nodes, CIDRs by commas: activityChecks connect to
                               no address of a node elsewhere (any address that is not loopback,
                               link-local or multicast)
  NODEFENCE_KUBELET_PORT       port by which activityChecks find kubelets (what each Node reports)
  NODEFENCE_NEIGHBORS_IMAGE    image that activityChecks' Jobs on neighbors run, nodefence's own
                               (none: such checks go wrong, and no node counts as dead)
  NODEFENCE_JOBS_NAMESPACE     namespace of the fence agents' Jobs (nodefence-jobs)
  NODEFENCE_JOB_IMAGES         images, by commas, that a method's job_image may name (none)
  NODEFENCE_DEVICE_CALL_TIMEOUT  longest that one call to a device may take, 1s to 2m; the
                               gate records it in each fence, and no function's calls take
                               longer than its own (20s)
  NODEFENCE_INVOCATION_TIMEOUT  how long the platform gives one invocation, at least the longest
                               call to a device and 40s: Timeout of the Lambda functions,
                               timeoutSeconds of the Knative Services (1m)
  NODEFENCE_CHECK_DENIED_INTERVAL  how long power and isolate leave a healthy node's device alone
                               after it has refused the account (1h)
  NODEFENCE_REMEDIATION_LEASES  namespace of the Leases by which medik8s' operators take turns on
                               a node, medik8s-leases (none: turns are taken with nobody)
  NODEFENCE_AGENTS_DIR         folder of the ClusterLabs fence agents (/usr/sbin)
  NODEFENCE_CLUSTER            this cluster's name in events (the UID of namespace kube-system)
  NODE_NAME                    the node that this runs on, which it does not fence; none where
                               this is no node of the cluster (required by gate, isolate and
                               power; none on Lambda)
  GCE_METADATA_HOST            host that stands in for Compute Engine's metadata server (none)
  OTEL_EXPORTER_OTLP_ENDPOINT  URL of a collector that takes spans by OTLP over HTTP (none: no
                               traces); infra/observability has OpenTelemetry's other variables
  KUBECONFIG                   file that says how to reach the cluster (in a pod its own account)

over HTTP:

  PORT                         port of POST /, /healthz, /readyz and /metrics (8080)
  K_SINK                       URL that resync posts to, with K_CE_OVERRIDES, K_CA_CERTS
                               and NODEFENCE_TOKEN_FILE as a SinkBinding sets them
  NODEFENCE_DIRECT             URL by which resync calls each function past the broker,
                               such as http://nodefence-{function}.nodefence-system.svc

on AWS Lambda, where AWS_LAMBDA_RUNTIME_API is set:

  NODEFENCE_BUS                name or ARN of the EventBridge bus for replies (required)
  NODEFENCE_METRICS            emf: after each invocation log lines on standard output in
                               CloudWatch's embedded metric format (none: no metrics)
  NODEFENCE_EKS_CLUSTER        name of the EKS cluster, reached as the function's role
  NODEFENCE_EKS_ENDPOINT       its API server's URL
  NODEFENCE_EKS_CA             its certificate authority, PEM in base64
  NODEFENCE_DIRECT             name of the Lambda functions that resync calls past the bus,
                               such as nodefence-{function}

Its log is JSON on standard error.
`

// settings are the functions' settings and those of the platform.
type settings struct {
	functions.Settings
	// Sink is for resync, the one function that sends more events than a reply.
	sink.Options
	// EKS is how Lambda reaches the cluster.
	EKS eks.Cluster
	// Bus is the EventBridge bus that Lambda's replies go to.
	Bus string `envconfig:"NODEFENCE_BUS"`
	// Metrics is how Lambda tells metrics: emf, or not at all if empty.
	Metrics string `envconfig:"NODEFENCE_METRICS"`
}

// inJob are the settings of an agent that runs in a Job of its own.
type inJob struct {
	// AgentsDir has the agents of the Job's image; if empty, Debian's folder.
	AgentsDir string `envconfig:"NODEFENCE_AGENTS_DIR"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reach" {
		code, words := probe.Command(context.Background(), os.Args[2:], os.Getenv(probe.HostIP))
		fmt.Println(words)
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		var in inJob
		if err := run.Environment(&in); err != nil {
			fmt.Fprintf(os.Stderr, "nodefence: %v\n", err)
			os.Exit(1)
		}
		at := append(os.Args[2:], "", "", "")
		os.Exit(job.Command(job.Paths{Given: at[0], Accepted: at[1], Said: at[2], Agents: in.AgentsDir}))
	}
	if len(os.Args) > 1 {
		os.Exit(other(os.Args[1], os.Stdout, os.Stderr))
	}
	var s settings
	err := run.Environment(&s)
	switch {
	case err != nil:
	case os.Getenv(lambda.RuntimeAPI) != "":
		err = serveLambda(context.Background(), s)
	default:
		err = serveHTTP(s)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nodefence: %v\n", err)
		os.Exit(1)
	}
}

// other is an argument that starts nothing. The user asks for help, or is mistaken: an exit
// without an error would look as if the command had done its work.
func other(arg string, out, problems io.Writer) int {
	switch arg {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return 0
	}
	fmt.Fprintf(problems, "nodefence: unexpected argument %q; see --help\n", arg)
	return 2
}

func serveHTTP(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log, reg := newLog(), metrics.NewRegistry()
	cfg, err := s.EKS.Or(ctx, s.Kubeconfig)
	if err != nil {
		return kube.NoCluster("KUBECONFIG", err)
	}
	parts, err := functions.NewParts(ctx, s.Settings, cfg, log, reg)
	if err != nil {
		return err
	}
	defer parts.Traces.Close()
	served, err := serving(parts, s)
	if err != nil {
		return err
	}
	var clocks sync.WaitGroup
	defer clocks.Wait()
	for _, clock := range served.Clocks {
		clocks.Go(func() { clock(ctx) })
	}
	defer stop()
	handler := run.HTTP(served.Handle, run.HTTPOptions{Logger: log, Invocation: s.InvocationTimeout()})
	return run.ServeFor(ctx, s.InvocationTimeout(), fmt.Sprintf(":%d", s.Port), run.Mux(handler, run.Probes{
		Ready: parts.Client.Ready, Detail: parts.Detail, Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
	}))
}

// serving gives the function its means to send events and to call other functions.
func serving(parts functions.Parts, s settings) (served functions.Served, err error) {
	if s.Sink != "" {
		if parts.Sender, err = sink.New(s.Options); err != nil {
			return served, err
		}
	}
	if s.Direct != "" {
		c, err := sink.NewCaller(s.Direct, s.Options, s.InvocationTimeout())
		if err != nil {
			return served, fmt.Errorf("read NODEFENCE_DIRECT: %w", err)
		}
		parts.Call = c.Call
	} else if s.Function == resync.Name {
		parts.Log.Warn("NODEFENCE_DIRECT is not set; resync sends through the broker, and wakes no fence while the broker is dead")
	}
	return functions.Serve(parts)
}

func newLog() *slog.Logger { return run.NewLog(os.Stderr, slog.LevelInfo) }

// Command nodefence-plan says how a node would be fenced, or why a fence would be refused,
// before a fence is needed. It only reads.
//
// What a reader must not get wrong: it has no rules of its own. Policy, device and limits
// are resolved by the code of the gate, and the verdict is that of the automaton.
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
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/kube"
)

const usage = `nodefence-plan says how a node would be fenced, or why it is refused. It reads
from the API server, speaks with no device, and changes nothing.

  nodefence-plan NODE [flags]
  nodefence-plan --all [flags]
  nodefence-plan --read NODE [flags]

With --read it first asks nodefence, as it runs in the cluster, to read the node's devices
now, and waits for the answer: it writes annotation nodefence.io/check-now of the
FenceTarget, for which you need the right to patch fencetargets.

Exit codes:
  0  the node would be fenced so; "now" says whether something holds it this minute
  1  the node is refused, or one of its devices is known not to answer (with --all: of any)
  2  it could not be found out: no such node, no answer, wrong flags

`

// The exit codes.
const (
	refused = 1 // or known to be unusable
	failed  = 2
)

// options are the flags.
type options struct {
	functions.Settings
	context, output string
	all, read       bool
	node            string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, problems io.Writer) int {
	o, err := read(args, problems)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var cfg *rest.Config
	if err == nil {
		cfg, err = connect(o)
	}
	code := failed
	if err == nil {
		code, err = tell(ctx, o, cfg, out)
	}
	if err != nil {
		fmt.Fprintf(problems, "nodefence-plan: %v\n", err)
		return failed
	}
	return code
}

func read(args []string, problems io.Writer) (options, error) {
	o := options{}
	fs := o.flags(problems)
	var nodes []string
	for rest := args; ; {
		if err := fs.Parse(rest); err != nil {
			return o, err
		}
		if fs.NArg() == 0 {
			break
		}
		nodes, rest = append(nodes, fs.Arg(0)), fs.Args()[1:] // flags may also follow the name, as in kubectl
	}
	switch {
	case len(nodes) > 1:
		return o, fmt.Errorf("it takes the name of one node and no verb, and has %s; see --help", strings.Join(nodes, ", "))
	case o.all == (len(nodes) > 0):
		return o, errors.New("name one node, or --all; see --help")
	case o.all && o.read:
		return o, errors.New("--read takes one node, and not --all; see --help")
	case o.output != "text" && o.output != "yaml" && o.output != "json":
		return o, fmt.Errorf("-o %s: it takes text, yaml or json", o.output)
	}
	o.node = strings.Join(nodes, "")
	return o, nil
}

// flags returns the flags of the command line, which set the options.
func (o *options) flags(problems io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("nodefence-plan", flag.ContinueOnError)
	fs.SetOutput(problems)
	fs.Usage = func() {
		fmt.Fprint(problems, usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "`file` that says how to reach the cluster (KUBECONFIG, or ~/.kube/config)")
	fs.StringVar(&o.context, "context", "", "`name` of the kubeconfig's context (its current one)")
	fs.StringVar(&o.Namespace, "namespace", "nodefence-system", "`namespace` of the fence-config ConfigMaps")
	fs.StringVar(&o.SecretsNamespace, "secrets-namespace", "nodefence-devices", "`namespace` of the devices' Secrets")
	fs.StringVar(&o.AgentsDir, "agents-dir", "/usr/sbin", "`folder` of the ClusterLabs fence agents; they are asked for their metadata only")
	fs.Func("job-images", "`images`, separated by commas, that a method's job_image may name (NODEFENCE_JOB_IMAGES of the functions)", func(s string) error {
		o.JobImages = strings.Split(s, ",")
		return nil
	})
	fs.StringVar(&o.output, "o", "text", "`form` of the answer: text, yaml or json")
	fs.BoolVar(&o.all, "all", false, "all nodes, with a line each")
	fs.BoolVar(&o.read, "read", false, "have nodefence read the node's devices now, and wait for the answer")
	return fs
}

// connect finds the cluster as kubectl does.
func connect(o options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.Warner = o.Kubeconfig, nil // the error names what is missing
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return nil, cmp.Or(missing(rules, err), kube.NoCluster("--kubeconfig", err))
	}
	asks := ""
	if o.read {
		asks = o.node
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return reads{next, asks} })
	return cfg, nil
}

// missing names the files that KUBECONFIG names and that do not exist, if that is why no
// cluster was found. client-go skips a missing file.
func missing(rules *clientcmd.ClientConfigLoadingRules, err error) error {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" || rules.ExplicitPath != "" {
		return nil
	}
	var gone []string
	for _, f := range rules.Precedence {
		if _, err := os.Stat(f); f != "" && errors.Is(err, os.ErrNotExist) {
			gone = append(gone, f)
		}
	}
	if len(gone) == 0 || len(gone) < len(rules.Precedence) && !clientcmd.IsEmptyConfig(err) {
		return nil
	}
	return fmt.Errorf("find the cluster: %s names %s, and there is no such file; correct %[1]s, or set --kubeconfig",
		clientcmd.RecommendedConfigPathEnvVar, strings.Join(gone, ", "))
}

// tell prints the answer.
func tell(ctx context.Context, o options, cfg *rest.Config, out io.Writer) (int, error) {
	client, err := kube.New(cfg)
	if err != nil {
		return failed, err
	}
	parts := functions.Parts{Settings: o.Settings, Client: client, Drivers: functions.DriversIn(client, o.Settings), Log: slog.New(slog.DiscardHandler)}
	w, err := readWorld(ctx, parts)
	if err == nil && o.read {
		err = w.ask(ctx, o.node)
	}
	if err != nil {
		return failed, err
	}
	reports, err := w.reports(ctx, o.node)
	if err != nil {
		return failed, err
	}
	if err := show(out, o, reports); err != nil {
		return failed, fmt.Errorf("write the answer: %w", err)
	}
	for _, r := range reports {
		if r.Refused != "" || r.broken() != "" {
			return refused, nil
		}
	}
	return 0, nil
}

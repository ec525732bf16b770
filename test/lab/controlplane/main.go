package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = `usage: kube COMMAND

  all FILE                  the four parts in one process, configured by a JSON file
  etcd FILE                 etcd alone, configured by the same file
  snapshot FILE TO          save what the running etcd of that configuration holds
  restore FILE FROM FOLDER  unpack such a snapshot into a new data folder for it
  kube-apiserver            as upstream, with upstream's flags
  kube-controller-manager   as upstream, with upstream's flags
  kube-scheduler            as upstream, with upstream's flags
  version                   the Kubernetes version

A link to this executable that has the name of a command runs that command.
`

// upstream's constructors register signal handlers and global flags, so that at
// most one of them may be called in a process.
var upstream = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

// ours take the configuration file and so many more arguments.
var ours = map[string]struct {
	more int
	run  func(context.Context, Config, []string) error
}{
	"all":  {0, func(ctx context.Context, cfg Config, _ []string) error { return runAll(ctx, cfg) }},
	"etcd": {0, func(ctx context.Context, cfg Config, _ []string) error { return runEtcd(ctx, cfg) }},
	"snapshot": {1, func(ctx context.Context, cfg Config, args []string) error {
		return saveSnapshot(ctx, cfg.Etcd, args[0])
	}},
	"restore": {2, func(_ context.Context, cfg Config, args []string) error {
		return unpackSnapshot(cfg.Etcd, args[0], args[1])
	}},
}

func main() {
	args := os.Args
	if name := filepath.Base(args[0]); upstream[name] == nil && ours[name].run == nil {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "help" {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	os.Exit(run(filepath.Base(args[0]), args[1:]))
}

func run(name string, args []string) int {
	if name == "version" {
		fmt.Println(version.Get().GitVersion)
		return 0
	}
	if command := upstream[name]; command != nil {
		// cobra and upstream's version flag read os.Args themselves.
		os.Args = append([]string{name}, args...)
		return cli.Run(command())
	}
	if err := runOurs(name, args); err != nil {
		fmt.Fprintf(os.Stderr, "kube %s: %v\n", name, err)
		return 1
	}
	return 0
}

func runOurs(name string, args []string) error {
	command := ours[name]
	if command.run == nil {
		return fmt.Errorf("unknown command\n%s", usage)
	}
	if len(args) != 1+command.more {
		return fmt.Errorf("give %d arguments, the first of them the configuration file\n%s", 1+command.more, usage)
	}
	cfg, err := readConfig(args[0])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command.run(ctx, cfg, args[1:])
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

var verbs = []string{"crash", "power-loss", "power-on", "partition", "heal", "lease-stop", "lease-resume", "flap"}

func newNode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node NODE[,NODE]... VERB",
		Short: "Have something happen to a machine, or to several at once",
		Long: `Has something happen to a machine, or to several at once:

  crash         the kernel stops; the power stays on
  power-loss    the power goes, as if the plug was pulled
  power-on      the power returns, and the machine boots
  partition     the machine runs on without its network
  heal          the network returns
  lease-stop    the kubelet renews its Lease no more, all else works
  lease-resume  the kubelet renews its Lease again
  flap          the network comes and goes

A real machine hangs in a crash: its processes are stopped where they are. It has
none of the last three.`,
		Args: cobra.ExactArgs(2),
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		nodes, verb := strings.Split(args[0], ","), args[1]
		if !slices.Contains(verbs, verb) {
			return fmt.Errorf("unknown verb %q: use one of %s", verb, oneOf(verbs))
		}
		client, err := connect(*name)
		if err != nil {
			return err
		}
		return atOnce(cmd.Context(), client, nodes, verb)
	}
	return cmd
}

func atOnce(ctx context.Context, client *simclient.Client, nodes []string, verb string) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() { errs[i] = client.Do(ctx, node, verb) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func newBMC() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bmc NODE[.a|.b] {fault FAULT | log}",
		Short: "Spoil a machine's BMC, or read what it was told",
		Long: `Makes a machine's BMC misbehave ("none" ends that), or shows the commands that
it was given. NODE.a and NODE.b are the two outlets that feed the machine. The lab
refuses a fault that it doesn't know, and lists those that it does.`,
		Example: "  nodefence-lab bmc node-1 fault slow=6s\n  nodefence-lab bmc node-1 log -o json",
		Args:    cobra.RangeArgs(2, 3),
	}
	name, format := nameFlag(cmd), outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := connect(*name)
		if err != nil {
			return err
		}
		switch node, verb := args[0], args[1]; {
		case verb == "fault" && len(args) == 3:
			return client.SetFault(cmd.Context(), node, args[2])
		case verb == "log" && len(args) == 2:
			return printLog(cmd, client, node, *format)
		}
		return fmt.Errorf("use \"bmc %s fault FAULT\" or \"bmc %s log\"", args[0], args[0])
	}
	return cmd
}

func printLog(cmd *cobra.Command, client *simclient.Client, node string, format output) error {
	log, err := client.Log(cmd.Context(), node)
	if err != nil {
		return err
	}
	return print(cmd.OutOrStdout(), format, log, func(w io.Writer) {
		for _, c := range log {
			fmt.Fprintf(w, "%s\t%s\t%s\n", c.Time.Format(time.RFC3339Nano), c.Command, accepted(c))
		}
	})
}

func accepted(c simclient.Command) string {
	if c.Accepted {
		return "accepted"
	}
	return "refused"
}

// connect has a better error for a lab without machines than the one about a missing socket.
func connect(name string) (*simclient.Client, error) {
	dir, record, err := labdir.Open(name)
	if err != nil {
		return nil, err
	}
	if record.Ready && record.Nodes == 0 {
		return nil, fmt.Errorf("lab %q has no machines: it was started with --nodes 0", name)
	}
	return simclient.New(dir.Socket()), nil
}

func newWriters() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "writers",
		Short: "Show who wrote to which volume; exit 1 if a volume ever had two writers",
		Args:  cobra.NoArgs,
	}
	name, format := nameFlag(cmd), outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return writers(cmd.Context(), cmd.OutOrStdout(), *name, *format)
	}
	return cmd
}

func writers(ctx context.Context, w io.Writer, name string, format output) error {
	client, err := connect(name)
	if err != nil {
		return err
	}
	all, err := client.Writers(ctx)
	if err != nil {
		return err
	}
	if err := print(w, format, all, func(w io.Writer) { printWriters(w, all) }); err != nil {
		return err
	}
	if len(all.Overlaps) > 0 {
		return errBadNews
	}
	return nil
}

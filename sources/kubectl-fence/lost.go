package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// losing is what the command lost was given.
type losing struct {
	*acting
	nodes    []string
	selector string
	lasts    time.Duration
	withdraw bool
	// who speaks, and when, is read once: the statement that is carried out ends when the one that was shown ends.
	who act.Person
}

func (p *program) lostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lost (NODE... | -l SELECTOR | --withdraw)",
		Short: "Say that nodes are dead where most Leases stand still",
		Long: `Give your word that nodes are lost, and not merely out of nodefence's sight, where most Leases stand
still (REASON MostLeasesStale). Their Leases do not count any more, and once you have confirmed of such a
node that its machine is off, its work is released. All other limits hold, and no machine is cut because of
it. A node whose Lease moves is refused.`,
		Example: `  kubectl fence lost worker-1 worker-2 --reason "the rack has burnt"
  kubectl fence lost -l topology.kubernetes.io/zone=b --for 8h --reason "zone b has no power"
  kubectl fence lost --withdraw`,
	}
	in := &losing{acting: p.actingFlags(cmd, false).reasonFlag(cmd)}
	cmd.Flags().StringVarP(&in.selector, "selector", "l", "", "Labels of the nodes that are lost, as kubectl takes them")
	cmd.Flags().DurationVar(&in.lasts, "for", 4*time.Hour, "How long the statement lasts, 24h at most")
	cmd.Flags().BoolVar(&in.withdraw, "withdraw", false, "Take the statement back")
	p.ledgerCommand(cmd, in.acting, in.change)
	run := cmd.RunE
	cmd.Args, cmd.ValidArgsFunction = cobra.ArbitraryArgs, p.nodes()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			in.nodes = append(in.nodes, nodeNamed(arg))
		}
		if !in.namedOneWay() {
			return fmt.Errorf("name the nodes, or choose them by -l, or take the statement back by --withdraw: %s", cmd.UseLine())
		}
		return run(cmd, args)
	}
	return cmd
}

// namedOneWay tells whether exactly one option names the nodes.
func (in *losing) namedOneWay() bool {
	n := 0
	for _, given := range []bool{len(in.nodes) > 0, in.selector != "", in.withdraw} {
		if given {
			n++
		}
	}
	return n == 1
}

func (in *losing) change(ctx context.Context, c *cluster.Client, l *api.FenceLedger) (ch act.Change, err error) {
	if in.withdraw {
		return act.NotLost(l)
	}
	if in.who.Name == "" {
		if in.who, err = in.person(ctx, c); err != nil {
			return act.Change{}, err
		}
	}
	nodes := in.nodes
	if in.selector != "" {
		if nodes, err = c.NodesLabelled(ctx, in.selector); err != nil {
			return act.Change{}, err
		}
	}
	return act.Lost(l, nodes, in.lasts, in.who)
}

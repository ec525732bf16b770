package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NODE]",
		Short: "Show past and present fences: who, why, evidence, proof, times",
		Long: `Show the fences that there are reports of (FenceReports), and those that are open, the latest first.
Of one node the latest fence is told step by step. Reports are kept for 90 days unless somebody sets
spec.reports of FenceLedger cluster; they outlive the record of the node.`,
		Example: `  kubectl fence history
  kubectl fence history --since 24h
  kubectl fence history worker-7
  kubectl fence history worker-7 -o json`,
		Args:              oneNodeAtMost,
		ValidArgsFunction: p.nodes(),
	}
	o := outputFlag(cmd, "wide", "json", "yaml").headersFlag(cmd)
	var since time.Duration
	cmd.Flags().DurationVar(&since, "since", 0, "Show only fences that are open or ended within this time, such as 24h")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.ready(o)
		if err != nil {
			return err
		}
		node := ""
		if len(args) == 1 {
			node = nodeNamed(args[0])
		}
		past, err := readHistory(cmd.Context(), c, node)
		if err != nil {
			return err
		}
		if since > 0 {
			past = view.Since(past, c.Now().Add(-since))
		}
		return p.showHistory(o, past, node, c.Now())
	}
	return cmd
}

// readHistory reads the fences of one node; of all, if it is empty. It refuses a node that nobody knows.
func readHistory(ctx context.Context, c *cluster.Client, node string) ([]view.Past, error) {
	fences, err := c.Fences(ctx)
	if err != nil {
		return nil, err
	}
	reports, err := c.Reports(ctx, node)
	if err != nil || node == "" {
		return view.History(reports, fences, node), err
	}
	names, err := c.NodeNames(ctx)
	if err != nil {
		return nil, err
	}
	s := view.Seen{Fences: fences}
	for i := range reports {
		names = append(names, reports[i].Spec.NodeName)
	}
	if names = append(names, s.Names()...); !slices.Contains(names, node) {
		return nil, view.NoSuchNode(node, names)
	}
	return view.History(reports, fences, node), nil
}

func (p *program) showHistory(o *output, past []view.Past, node string, now time.Time) error {
	if did, err := items(o, p.Out, past); did {
		return err
	}
	if len(past) == 0 {
		fmt.Fprintln(p.ErrOut, "no fence is reported or open")
		return nil
	}
	if err := o.table(p.Out, view.HistoryTable(past, now)); err != nil {
		return err
	}
	if node != "" && len(past[0].Entries) > 0 {
		fmt.Fprintf(p.Out, "\n%s", view.Story(past[0]))
	}
	return nil
}

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history [NODE]",
		Short: "Show past and present fences: who, why, evidence, proof, times",
		Long: `Show the fences that the records still have, the latest first. Of one node the latest fence is
told step by step.`,
		Example: `  kubectl fence history
  kubectl fence history worker-7
  kubectl fence history worker-7 -o json`,
		Args:              oneNodeAtMost,
		ValidArgsFunction: p.nodes(),
	}
	o := outputFlag(cmd, "wide", "json", "yaml").headersFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.ready(o)
		if err != nil {
			return err
		}
		fences, err := c.Fences(cmd.Context())
		if err != nil {
			return err
		}
		node := ""
		if len(args) == 1 {
			node = nodeNamed(args[0])
			names, err := c.NodeNames(cmd.Context())
			if err != nil {
				return err
			}
			s := view.Seen{Fences: fences}
			if names = append(names, s.Names()...); !slices.Contains(names, node) {
				return view.NoSuchNode(node, names)
			}
		}
		return p.showHistory(o, view.History(fences, node), node, c.Now())
	}
	return cmd
}

func (p *program) showHistory(o *output, past []view.Past, node string, now time.Time) error {
	if did, err := items(o, p.Out, past); did {
		return err
	}
	if len(past) == 0 {
		fmt.Fprintln(p.ErrOut, "no fence was ever opened")
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

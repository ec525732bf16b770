package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

func (p *program) cordonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cordon NODE",
		Short: "Keep a node cordoned, also once its fence has ended",
		Long: `Keep a node cordoned. A node that is fenced is cordoned already, and kubectl cordon sends nothing for it,
so nodefence would uncordon it at the end. This cordon is yours too, and stays. kubectl uncordon removes it.`,
		Example: `  kubectl fence cordon worker-7`,
	}
	a := p.actingFlags(cmd, false)
	cmd.Args, cmd.ValidArgsFunction = oneName("node"), p.nodes()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		node := nodeNamed(args[0])
		if err := a.agree(fmt.Sprintf("Node %s takes no new pods until somebody uncordons it (kubectl uncordon %s). nodefence leaves this cordon on.\n", node, node), ""); err != nil {
			return err
		}
		dry, done := cluster.DryRun(a.dry), "node "+node+": cordoned, also after its fence"
		if dry != cluster.DryRunClient {
			if err := c.Cordon(cmd.Context(), node, dry); err != nil {
				return err
			}
		}
		if dry != cluster.DryRunNone {
			done += fmt.Sprintf(" (%s dry run)", dry)
		}
		fmt.Fprintln(a.Out, done)
		return nil
	}
	return cmd
}

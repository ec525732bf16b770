package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) devicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the devices of healthy nodes, and whether they answer",
		Long: `Show what nodefence last read of each node's devices while nothing had failed: one line for each
device. "kubectl fence plan --read NODE" has them read now.

"kubectl get fencetargets" has one line for each node. Its column HOST-HA is the node's state in the
words of CloudStack's Host HA, such as AVAILABLE, SUSPECT, FENCING or INELIGIBLE. Nothing is decided by it.`,
		Example: `  kubectl fence devices
  kubectl fence devices -o wide`,
		Args: noNode("kubectl fence plan"),
	}
	o := outputFlag(cmd, "wide", "json", "yaml", "name").headersFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.ready(o)
		if err != nil {
			return err
		}
		targets, err := c.Targets(cmd.Context())
		if err != nil {
			return err
		}
		if did, err := items(o, p.Out, targets); did {
			return err
		}
		if o.form == "name" {
			for i := range targets {
				fmt.Fprintln(p.Out, "fencetarget.nodefence.io/"+targets[i].Name)
			}
			return nil
		}
		if len(targets) == 0 {
			fmt.Fprintln(p.ErrOut, "there is no FenceTarget: nodefence's source does not run, or reads no devices (NODEFENCE_CHECK_INTERVAL=0)")
			return nil
		}
		return o.table(p.Out, view.DevicesTable(targets, c.Now()))
	}
	return cmd
}

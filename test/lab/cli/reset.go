package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
)

func newKeep() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keep",
		Short: "Remember what a lab without machines holds, for \"reset\"",
		Args:  cobra.NoArgs,
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := bringup.Keep(cmd.Context(), *name); err != nil {
			return fmt.Errorf("keep content of lab: %w", err)
		}
		return nil
	}
	return cmd
}

func newReset() *cobra.Command {
	o := bringup.Defaults()
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Take a lab back to what \"keep\" remembered, with new machines",
		Long: `Ends a lab's machines, takes the content of its etcd back to what "keep"
remembered while the control plane goes on, and starts new machines. If that
fails, the lab is not whole: end it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := bringup.Reset(cmd.Context(), o, cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("reset lab: %w", err)
			}
			return nil
		},
	}
	machineFlags(cmd, &o)
	return cmd
}

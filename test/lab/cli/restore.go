package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
)

func newSnapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot FILE",
		Short: "Save what a lab's etcd holds, for \"restore\"",
		Args:  cobra.ExactArgs(1),
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := bringup.Snapshot(cmd.Context(), *name, args[0], cmd.ErrOrStderr()); err != nil {
			return fmt.Errorf("save snapshot of lab: %w", err)
		}
		return nil
	}
	return cmd
}

func newRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Take a lab's cluster back to what \"snapshot\" saved",
		Long: `Ends a lab's control plane, takes its etcd back to a snapshot, and starts it
again under its old address. Machines are not taken back: what has happened to
them since has happened. At the end they read the cluster anew, as kubelets do
that are started again after a restore. resourceVersions go back, too.`,
		Example: "  nodefence-lab snapshot before.db\n  nodefence-lab restore before.db",
		Args:    cobra.ExactArgs(1),
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := bringup.Restore(cmd.Context(), *name, args[0], cmd.ErrOrStderr()); err != nil {
			return fmt.Errorf("restore lab: %w", err)
		}
		return nil
	}
	return cmd
}

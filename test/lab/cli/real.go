package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/real"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// newReal has the commands that labs of real machines start in the background. No user needs them.
func newReal(host Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "real",
		Short:  "Run the real machines (\"up --real\" does this)",
		Hidden: true,
	}
	cmd.AddCommand(newRealMachines(host), newRealChassis(),
		&cobra.Command{
			Use:   "enter FILE",
			Short: "Become a machine",
			Args:  cobra.ExactArgs(1),
			RunE:  func(_ *cobra.Command, args []string) error { return real.Enter(args[0]) },
		},
		&cobra.Command{
			Use:   "boot FILE",
			Short: "Be the first process of a machine",
			Args:  cobra.ExactArgs(1),
			RunE:  func(cmd *cobra.Command, args []string) error { return real.Start(cmd.Context(), args[0]) },
		})
	return cmd
}

func newRealMachines(host Host) *cobra.Command {
	return &cobra.Command{
		Use:   "machines FILE",
		Short: "Run all machines of a lab",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read configuration: %w", err)
			}
			var config real.Config
			if err := json.Unmarshal(raw, &config); err != nil {
				return fmt.Errorf("parse configuration %s: %w", args[0], err)
			}
			return real.Run(cmd.Context(), config, host.Now)
		},
	}
}

// newRealChassis is the command that ipmi_sim calls, in the words of "chassis_control".
func newRealChassis() *cobra.Command {
	return &cobra.Command{
		Use:   "chassis SOCKET NODE {get WHAT | set WHAT VALUE}",
		Short: "Tell a machine what its BMC was told",
		Args:  cobra.MinimumNArgs(4),
		RunE: func(cmd *cobra.Command, args []string) error {
			says, err := simclient.New(args[0]).Chassis(cmd.Context(), args[1], args[2:])
			if err != nil {
				return fmt.Errorf("tell machine: %w", err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), says)
			return err
		},
	}
}

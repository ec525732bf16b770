package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// newMachines is what "up" starts in the background. It isn't for users.
func newMachines() *cobra.Command {
	return &cobra.Command{
		Use:    "machines FILE",
		Short:  "Run the simulated machines (\"up\" does this)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(*cobra.Command, []string) error {
			return errors.New("run machines: not built in yet; start the lab with --nodes 0")
		},
	}
}

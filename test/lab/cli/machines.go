package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
	"github.com/nodefence/nodefence/test/lab/machine"
)

// newMachines is what "up" starts in the background. It isn't for users.
func newMachines() *cobra.Command {
	return &cobra.Command{
		Use:    "machines FILE",
		Short:  "Run the simulated machines (\"up\" does this)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := readMachinesConfig(args[0])
			if err != nil {
				return err
			}
			return machine.Run(cmd.Context(), config)
		},
	}
}

func readMachinesConfig(path string) (machine.Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return machine.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	var c bringup.MachinesConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return machine.Config{}, fmt.Errorf("parse configuration %s: %w", path, err)
	}
	lease, err := time.ParseDuration(c.LeasePeriod)
	if err != nil {
		return machine.Config{}, fmt.Errorf("parse lease period: %w", err)
	}
	status, err := time.ParseDuration(c.StatusPeriod)
	if err != nil {
		return machine.Config{}, fmt.Errorf("parse status period: %w", err)
	}
	return machine.Config{
		Kubeconfig:   c.Kubeconfig,
		Nodes:        c.Nodes,
		NodePrefix:   "node-",
		LeasePeriod:  lease,
		StatusPeriod: status,
		Zones:        c.Zones,
		Outlets:      c.Outlets,
		SystemUUIDs:  c.SystemUUIDs,
		BMCUUIDs:     c.BMCUUIDs,
		StateDir:     c.StateDir,
		Socket:       c.Socket,
	}, nil
}

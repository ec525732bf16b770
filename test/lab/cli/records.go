package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/machine"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// records are the paths of what a lab has written about itself.
type records struct {
	// Audit are the logs of the API server's writes, oldest first.
	Audit []string `json:"audit"`
	// BMCs and Writers are the journals of the machines; they begin anew with each reset.
	BMCs    string `json:"bmcs"`
	Writers string `json:"writers"`
}

func newRecords() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Print the paths of the API server's audit log and of the machines' journals, as JSON",
		Args:  cobra.NoArgs,
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, record, err := labdir.Open(*name)
		if err != nil {
			return fmt.Errorf("find records: %w", err)
		}
		if record.Real { // they write the journal of the writers when somebody asks for it
			if _, err := simclient.New(dir.Socket()).Writers(cmd.Context()); err != nil {
				return fmt.Errorf("find records: %w", err)
			}
		}
		audit, err := bringup.AuditFiles(dir)
		if err != nil {
			return fmt.Errorf("find records: %w", err)
		}
		return json.NewEncoder(cmd.OutOrStdout()).Encode(records{
			Audit: audit, BMCs: bringup.MachinesFile(dir, machine.BMCsFile), Writers: bringup.MachinesFile(dir, machine.WritersFile),
		})
	}
	return cmd
}

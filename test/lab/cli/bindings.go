package cli

import (
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/simclient"
)

func newBindings() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bindings",
		Short: "Print which BMC switches which machine, for kubectl apply -f -",
		Long: `Prints a ConfigMap and a Secret for each machine, by which nodefence knows the BMC
that switches it. The passwords are in it.

  nodefence-lab bindings --name demo | kubectl apply -f -`,
		Args: cobra.NoArgs,
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		client, err := connect(*name)
		if err != nil {
			return err
		}
		machines, err := client.Status(cmd.Context())
		if err != nil {
			return err
		}
		return printBindings(cmd.OutOrStdout(), machines.Nodes)
	}
	return cmd
}

const binding = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: fence-config-node-%[1]s, namespace: nodefence-system}
data:
  config.properties: |
    node_name=%[1]s
    power_management=bmc
  fence-method-bmc: |
    agent_name=fence-ipmilan
    ip=%[2]s
    ipport=%[3]s
    username=%[4]s
    secret=bmc-%[1]s
---
apiVersion: v1
kind: Secret
metadata: {name: bmc-%[1]s, namespace: nodefence-devices, annotations: {nodefence.io/hosts: %[2]s}}
stringData: {password: %[5]q}
`

func printBindings(w io.Writer, nodes []simclient.Node) error {
	for _, n := range nodes {
		ip, port, err := net.SplitHostPort(n.BMC)
		if err != nil {
			return fmt.Errorf("read the address of %s's BMC: %w", n.Name, err)
		}
		if _, err := fmt.Fprintf(w, binding, n.Name, ip, port, n.Username, n.Password); err != nil {
			return err
		}
	}
	return nil
}

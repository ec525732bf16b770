package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/bringup"
)

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a lab: its processes, its machines, their BMCs",
		Long: `Shows a lab: its processes, its machines, their BMCs. Exits with 1 if the lab
isn't whole. The machines' BMC passwords are in the JSON only.`,
		Args: cobra.NoArgs,
	}
	name, format := nameFlag(cmd), outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		status, err := bringup.GetStatus(cmd.Context(), *name)
		if err != nil {
			return err
		}
		if err := print(cmd.OutOrStdout(), *format, status, func(w io.Writer) { printStatus(w, status) }); err != nil {
			return err
		}
		if status.State != bringup.StateUp {
			return errBadNews
		}
		return nil
	}
	return cmd
}

func newList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the labs of this user",
		Args:  cobra.NoArgs,
	}
	format := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := bringup.Summaries()
		if err != nil {
			return err
		}
		return print(cmd.OutOrStdout(), *format, all, func(w io.Writer) {
			fmt.Fprintln(w, "NAME\tSTATE\tAGE\tKUBECONFIG")
			for _, s := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.State, age(s.Created), s.Kubeconfig)
			}
		})
	}
	return cmd
}

func printStatus(w io.Writer, s bringup.Status) {
	fmt.Fprintf(w, "lab\t%s\nstate\t%s\n", s.Name, s.State)
	for _, problem := range s.Problems {
		fmt.Fprintf(w, "problem\t%s\n", problem)
	}
	fmt.Fprintf(w, "server\t%s\nkubeconfig\t%s\n", s.Server, s.Kubeconfig)
	for _, p := range s.Processes {
		fmt.Fprintf(w, "%s\tprocess %d, log %s\n", p.Name, p.PID, p.Log)
	}
	if len(s.Nodes) == 0 {
		return
	}
	fmt.Fprintln(w, "\nNODE\tPOWER\tSTATE\tBMC\tFAULT")
	for _, n := range s.Nodes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", n.Name, n.Power, n.State, n.BMC, n.Fault)
	}
}

// print writes value as JSON, or as the text that human writes, in columns.
func print(w io.Writer, format output, value any, human func(io.Writer)) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	human(columns)
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func age(created time.Time) string {
	if created.IsZero() {
		return "unknown"
	}
	return time.Since(created).Round(time.Second).String()
}

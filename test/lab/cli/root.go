package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFine = 0
	exitBad  = 1
	exitFail = 2
)

// errBadNews ends a command that has already printed everything.
var errBadNews = errors.New("bad news")

// Host is what main takes from the machine on which a command runs.
type Host struct {
	Now    func() time.Time
	Getenv func(name string) string
}

// Run runs one command and returns its exit code.
func Run(ctx context.Context, args []string, host Host, stdout, stderr io.Writer) int {
	root := newRoot(host)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errBadNews):
		return exitBad
	default:
		fmt.Fprintf(stderr, "nodefence-lab: %v%s\n", err, remedy(err))
		return exitFail
	}
}

// remedy says where the right words are documented, if the parser of the command line does not.
func remedy(err error) string {
	for _, misspelt := range []string{"unknown command ", "unknown flag: ", "unknown shorthand flag: "} {
		if strings.HasPrefix(err.Error(), misspelt) {
			return "\nsee --help"
		}
	}
	return ""
}

func newRoot(host Host) *cobra.Command {
	root := &cobra.Command{
		Use:   "nodefence-lab",
		Short: "Kubernetes clusters with simulated machines, on this machine",
		Long: `Runs Kubernetes clusters with a real control plane and simulated machines, each
with a BMC that can be reached over IPMI. Needs no containers and no root, and
listens on 127.0.0.1 only. Several labs can run side by side. "up --real" starts
real nodes instead, which need root.

  export KUBECONFIG=$(nodefence-lab up --name demo --nodes 3)
  nodefence-lab node node-1 power-loss --name demo
  nodefence-lab writers --name demo
  nodefence-lab down --name demo

Exit codes: 0 all is well; 1 the answer is bad news (status: the lab isn't
whole; writers: a volume had two); 2 the command failed.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newUp(host), newDown(), newStatus(), newList(), newNode(), newBMC(), newWriters(), newBindings(), newSnapshot(), newRestore(), newKeep(), newReset(), newRecords(), newBuild(), newKubectl(host), newMachines(), newReal(host))
	return root
}

func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "default", "which lab")
}

func outputFlag(cmd *cobra.Command) *output {
	format := new(output)
	cmd.Flags().VarP(format, "output", "o", "\"json\", or nothing for a text to read")
	return format
}

// output is a format; a misspelt one must not produce text for a parser of JSON.
type output string

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "format" }
func (o *output) Set(value string) error {
	if value != "json" {
		return errors.New("the only format is json")
	}
	*o = output(value)
	return nil
}

func oneOf(values []string) string { return strings.Join(values, ", ") }

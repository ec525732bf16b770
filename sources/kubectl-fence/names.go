package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nodeNamed is the name of a node that is named as kubectl names one (worker-7, or node/worker-7), or one of the
// objects that have a node's name.
func nodeNamed(arg string) string {
	return without(arg, "node/", "nodes/", "no/", "nodefence.nodefence.io/", "nodefence/", "nodefences/", "nfence/", "fencetarget.nodefence.io/", "fencetarget/", "fencetargets/")
}

// policyNamed is the name of a policy: workers, or fencepolicy.nodefence.io/workers, as kubectl get -o name prints it.
func policyNamed(arg string) string {
	return without(arg, "fencepolicy.nodefence.io/", "fencepolicy/", "fencepolicies/", "fencepol/")
}

// without is the argument without its kind, if that is one of these.
func without(arg string, kinds ...string) string {
	for _, kind := range kinds {
		if name, is := strings.CutPrefix(arg, kind); is {
			return name
		}
	}
	return arg
}

// noNode refuses names, and says how a command is about one node.
func noNode(ofOne string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%s is about all nodes; of one: %s %s", cmd.CommandPath(), ofOne, args[0])
		}
		return nil
	}
}

// oneName refuses anything but the name of one object of that kind.
func oneName(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s: %s", kind, cmd.UseLine())
		}
		return nil
	}
}

// oneNodeAtMost refuses more than the name of one node.
func oneNodeAtMost(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("name one node at most: %s", cmd.UseLine())
	}
	return nil
}

// noArgument refuses all arguments.
func noArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, and %q is one; see %[1]s --help", cmd.CommandPath(), args[0])
	}
	return nil
}

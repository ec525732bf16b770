package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/test/lab/kubebuild"
)

func newKubectl(host Host) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl ...",
		Short: "Be kubectl, for a machine that has none",
		Long: `Is Kubernetes' own kubectl, of the control plane's version, with all arguments and
with KUBECONFIG, which must be set: a lab's commands must not reach another cluster
because it is the current one. The first time it builds it into the cache, which
takes minutes. "kubectl help" is kubectl's own.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "--help" {
				return cmd.Help()
			}
			if host.Getenv("KUBECONFIG") == "" {
				return errors.New("KUBECONFIG is not set: export KUBECONFIG=$(nodefence-lab up --name NAME), or name another cluster's file")
			}
			path, err := kubebuild.EnsureKubectl(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			// It takes this process's place, so that signals and the exit code are its own.
			if err := syscall.Exec(path, append([]string{"kubectl"}, args...), os.Environ()); err != nil {
				return fmt.Errorf("start %s: %w", path, err)
			}
			return nil
		},
	}
}

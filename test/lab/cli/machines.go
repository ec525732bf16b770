package cli

import "github.com/spf13/cobra"

func newMachines() *cobra.Command { return &cobra.Command{Use: "machines", Hidden: true} }

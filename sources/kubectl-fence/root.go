package main

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/nodefence/nodefence/shared/buildinfo"
)

// root is the command with all others below it.
func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl-fence",
		Short: "See and steer how nodefence fences nodes",
		Long: `kubectl fence shows why a node is fenced or not, and lets you act on it. It acts with your own
credentials. What changes anything says first what it will do, and asks.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fence"},
		Version:           buildinfo.Version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		// Its scripts complete kubectl-fence, and not kubectl fence: kubectl asks kubectl_complete-fence.
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	p.config = genericclioptions.NewConfigFlags(true)
	p.config.AddFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().Lookup("namespace").Usage = "The namespace of nodefence, of its ConfigMaps and of FenceRequests (" + ownNamespace + ")"
	cmd.SetFlagErrorFunc(wrongFlag)
	_ = cmd.RegisterFlagCompletionFunc("context", p.contexts)
	_ = cmd.RegisterFlagCompletionFunc("namespace", p.namespaces)
	cmd.AddGroup(&cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "act", Title: "Act on a fence:"},
		&cobra.Group{ID: "brake", Title: "Stop and start:"}, &cobra.Group{ID: "prepare", Title: "Prepare:"})
	for group, commands := range map[string][]*cobra.Command{
		"look":    {p.statusCommand(), p.whyCommand(), p.historyCommand(), p.devicesCommand(), p.uiCommand()},
		"act":     {p.askCommand(), p.approveCommand(), p.abortCommand(), p.retryCommand(), p.liftCommand(), p.cordonCommand(), p.confirmOffCommand(), p.trustCommand()},
		"brake":   {p.pauseCommand(), p.resumeCommand(), p.stopCommand(), p.startCommand(), p.endCoolDownCommand(), p.lostCommand(), p.confirmRestoreCommand()},
		"prepare": {p.planCommand(), p.initCommand(), p.enrolCommand(), p.drillCommand(), p.bundleCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	cmd.SetHelpCommand(helpCommand())
	return cmd
}

// helpCommand is cobra's, and refuses a name that no command has, as the name itself is refused.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

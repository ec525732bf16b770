package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/starter"
)

func (p *program) initCommand() *cobra.Command {
	kind, o := "", starter.Options{}
	cmd := &cobra.Command{
		Use:   "init --for KIND",
		Short: "Write a FencePolicy to start with, in full and with comments",
		Long: `Write a FencePolicy for one kind of machine, in full and with comments. It goes to the standard
output and speaks with no cluster: look at it, change it, and apply it. It fences nothing by itself
before you change its mode.`,
		Example: `  kubectl fence init --for metal > workers.yaml
  kubectl fence init --for cloud --name web --selector pool=web | kubectl apply -f -`,
		Args: noArgument,
	}
	f := cmd.Flags()
	f.StringVar(&kind, "for", "", "The kind of machine: "+strings.Join(starter.Kinds(), ", "))
	f.StringVar(&o.Name, "name", "", "The policy's name (the kind)")
	f.StringVarP(&o.Selector, "selector", "l", "", "Labels of the nodes, as kubectl takes them (all workers; for control-plane all control-plane nodes)")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(starter.Kinds(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(*cobra.Command, []string) error {
		if kind == "" {
			return errors.New("say for which kind of machine: --for " + strings.Join(starter.Kinds(), "|"))
		}
		var b strings.Builder
		if err := starter.Write(&b, kind, o); err != nil {
			return err
		}
		_, err := fmt.Fprint(p.Out, b.String())
		return err
	}
	return cmd
}

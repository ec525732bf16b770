package main

import (
	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui"
)

func (p *program) uiCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page for a browser on this machine, which follows what happens",
		Long: `Serve a page for a browser on this machine: nodes by zone, the timeline of each fence, policies and
history, as they change. It reads and acts with your own credentials; nothing is installed in the
cluster. It listens on 127.0.0.1 alone, and lets in only a browser with the address that it
prints. What changes anything says first what it will do, and asks.`,
		Example: `  kubectl fence ui
  kubectl fence ui --port 8123 --open`,
		Args: noArgument,
	}
	port, open := 0, false
	cmd.Flags().IntVar(&port, "port", 0, "The port on 127.0.0.1; 0 takes any that is free")
	cmd.Flags().BoolVar(&open, "open", false, "Open the page in this machine's browser")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := p.pageOptions(cmd)
		if err != nil {
			return err
		}
		o.Port = port
		if open {
			o.Open = p.openBrowser
		}
		return ui.Serve(cmd.Context(), o)
	}
	return cmd
}

// pageOptions connect the page to the cluster.
func (p *program) pageOptions(cmd *cobra.Command) (ui.Options, error) {
	cfg, err := p.connection()
	if err != nil {
		return ui.Options{}, err
	}
	c, err := cluster.New(cfg)
	if err != nil {
		return ui.Options{}, err
	}
	c.Namespace = p.namespace()
	user, err := c.Whoami(cmd.Context())
	if err != nil {
		return ui.Options{}, err
	}
	name := *p.config.Context
	if raw, err := p.config.ToRawKubeConfigLoader().RawConfig(); err == nil && name == "" {
		name = raw.CurrentContext
	}
	return ui.Options{Client: c, User: user, Server: cfg.Host, Context: name, Namespace: p.namespace(), Out: p.Out}, nil
}

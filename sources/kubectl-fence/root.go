package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// program is one run of the plugin.
type program struct {
	genericiooptions.IOStreams
	// terminal tells whether a person can answer at In.
	terminal func() bool
	// start starts another program: the browser.
	start func(name string, args ...string) error
	// again says when status -w looks although nothing changes; nil: each lookAgain.
	again  <-chan time.Time
	config *genericclioptions.ConfigFlags
}

// ownNamespace is where nodefence, its ConfigMaps and FenceRequests are unless -n says otherwise.
const ownNamespace = "nodefence-system"

// root is the command with all others below it.
func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl-fence",
		Short: "See and steer how nodefence fences nodes",
		Long: `kubectl fence shows why a node is fenced or not, and lets you act on it. It acts with your own
credentials. What changes anything says first what it will do, and asks.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl fence"},
		Version:           version(),
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
		"act":     {p.askCommand(), p.approveCommand(), p.abortCommand(), p.retryCommand(), p.liftCommand(), p.cordonCommand(), p.confirmOffCommand()},
		"brake":   {p.pauseCommand(), p.resumeCommand(), p.stopCommand(), p.startCommand(), p.endCoolDownCommand(), p.confirmRestoreCommand()},
		"prepare": {p.planCommand(), p.initCommand(), p.enrolCommand(), p.drillCommand(), p.bundleCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	return cmd
}

// wrongFlag says of a flag that is not taken where those stand that are.
func wrongFlag(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// connection is how the cluster is reached. Where nothing names a cluster, client-go would try this
// machine.
func (p *program) connection() (*rest.Config, error) {
	cfg, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	loader := p.config.ToRawKubeConfigLoader()
	cfg.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true}) // as kubectl says them
	raw, err := loader.RawConfig()
	if err != nil || *p.config.APIServer != "" || cfg.BearerTokenFile != "" {
		return cfg, nil
	}
	switch {
	case len(raw.Clusters) == 0:
		return nil, cluster.NoCluster(loader.ConfigAccess().GetLoadingPrecedence())
	case raw.CurrentContext == "" && *p.config.Context == "" && *p.config.ClusterName == "":
		return nil, cluster.NoContext(slices.Sorted(maps.Keys(raw.Contexts)))
	}
	return cfg, nil
}

// client connects to the cluster.
func (p *program) client() (*cluster.Client, error) {
	cfg, err := p.connection()
	if err != nil {
		return nil, err
	}
	return cluster.New(cfg)
}

// namespace is that of nodefence.
func (p *program) namespace() string {
	if n := *p.config.Namespace; n != "" {
		return n
	}
	return ownNamespace
}

// complete offers the names that list returns and that begin as the word does, for the first
// argument alone.
func (p *program) complete(list func(context.Context, *cluster.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.offer(cmd.Context(), word, list)
	}
}

// offer are the names that list returns and that begin as the word does.
func (p *program) offer(ctx context.Context, word string, list func(context.Context, *cluster.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	c, err := p.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := list(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return begin(all, word), cobra.ShellCompDirectiveNoFileComp
}

// begin are the names that begin as the word does.
func begin(all []string, word string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, word) })
}

// contexts completes --context.
func (p *program) contexts(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	raw, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return begin(slices.Sorted(maps.Keys(raw.Contexts)), word), cobra.ShellCompDirectiveNoFileComp
}

// namespaces completes -n.
func (p *program) namespaces(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return p.offer(cmd.Context(), word, func(ctx context.Context, c *cluster.Client) ([]string, error) { return c.NamespaceNames(ctx) })
}

// nodes completes the name of a node.
func (p *program) nodes() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) { return c.NodeNames(ctx) })
}

// fenced completes the name of a node with an open fence.
func (p *program) fenced() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) {
		all, err := c.Fences(ctx)
		var out []string
		for i := range all {
			if all[i].Open() {
				out = append(out, all[i].Name)
			}
		}
		return out, err
	})
}

// policies completes the name of a policy.
func (p *program) policies() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) {
		all, err := c.Policies(ctx)
		var out []string
		for i := range all {
			out = append(out, all[i].Name)
		}
		return out, err
	})
}

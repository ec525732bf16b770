package main

import (
	"context"

	"github.com/spf13/cobra"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

func (p *program) pauseCommand() *cobra.Command {
	return p.policyCommand(&cobra.Command{
		Use:   "pause POLICY",
		Short: "Let no new fence begin under a policy",
		Long: `Let no new fence begin under a policy: a name is added to its spec.pauseRequests, yours unless
--as-name says another. What was begun runs to its end.`,
		Example: `  kubectl fence pause workers
  kubectl fence pause workers --as-name switch-upgrade --yes`,
	}, act.Pause)
}

func (p *program) resumeCommand() *cobra.Command {
	return p.policyCommand(&cobra.Command{
		Use:     "resume POLICY",
		Short:   "Take a name out of a policy's pauseRequests again",
		Example: `  kubectl fence resume workers`,
	}, act.Resume)
}

func (p *program) policyCommand(cmd *cobra.Command, build func(*api.FencePolicy, string) (act.Change, error)) *cobra.Command {
	as := ""
	a := p.actingFlags(cmd, false)
	cmd.Flags().StringVar(&as, "as-name", "", "The name that stands in spec.pauseRequests (yours)")
	cmd.Args, cmd.ValidArgsFunction = oneName("policy"), p.policies()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		if as == "" {
			if as, err = c.Whoami(cmd.Context()); err != nil {
				return err
			}
		}
		return p.brake(cmd.Context(), c, a, func(ctx context.Context) (act.Change, error) {
			policy, err := c.Policy(ctx, args[0])
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FencePolicy", args[0], "kubectl get fencepolicies lists what there is")
			}
			return build(policy, as)
		})
	}
	return cmd
}

func (p *program) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Let no fence begin in the whole cluster, and send no further power-off",
		Long: `Set the stop switch of the FenceLedger: in the whole cluster no fence begins, and no further
power-off is sent. What was begun runs to its end.`,
		Example: `  kubectl fence stop --reason "the core switch is being replaced"`,
	}
	a := p.actingFlags(cmd, false).reasonFlag(cmd)
	return p.ledgerCommand(cmd, a, func(l *api.FenceLedger) (act.Change, error) { return act.Stop(l, a.reason) })
}

func (p *program) startCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "start",
		Short:   "Let fences begin again after a stop",
		Example: `  kubectl fence start`,
	}
	return p.ledgerCommand(cmd, p.actingFlags(cmd, false), act.Start)
}

func (p *program) ledgerCommand(cmd *cobra.Command, a *acting, build func(*api.FenceLedger) (act.Change, error)) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		return p.brake(cmd.Context(), c, a, func(ctx context.Context) (act.Change, error) {
			l, err := c.Ledger(ctx)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FenceLedger", api.LedgerName, "kubectl apply -f infra/crd/ledger")
			}
			return build(l)
		})
	}
	return cmd
}

// brake carries out a change that is no request to a fence.
func (p *program) brake(ctx context.Context, c *cluster.Client, a *acting, build func(context.Context) (act.Change, error)) error {
	ch, err := build(ctx)
	if err != nil {
		return err
	}
	return a.change(ctx, c, ch, "", build)
}

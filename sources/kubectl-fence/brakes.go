package main

import (
	"context"
	"errors"

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
	}, func(_ context.Context, _ *cluster.Client, policy *api.FencePolicy, as string) (act.Change, error) {
		return act.Pause(policy, as)
	})
}

func (p *program) resumeCommand() *cobra.Command {
	return p.policyCommand(&cobra.Command{
		Use:     "resume POLICY",
		Short:   "Take a name out of a policy's pauseRequests again",
		Example: `  kubectl fence resume workers`,
	}, func(ctx context.Context, c *cluster.Client, policy *api.FencePolicy, as string) (act.Change, error) {
		l, err := c.LedgerIfSeen(ctx)
		if err != nil {
			return act.Change{}, err
		}
		return act.Resume(policy, l, as)
	})
}

func (p *program) policyCommand(cmd *cobra.Command, build func(context.Context, *cluster.Client, *api.FencePolicy, string) (act.Change, error)) *cobra.Command {
	as := ""
	a := p.actingFlags(cmd, false).reasonFlag(cmd)
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
		name := policyNamed(args[0])
		return p.brake(cmd.Context(), c, a, func(ctx context.Context) (act.Change, error) {
			policy, err := c.Policy(ctx, name)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FencePolicy", name, "kubectl get fencepolicies lists what there is")
			}
			return build(ctx, c, policy, as)
		})
	}
	return cmd
}

func (p *program) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Let no fence begin in the whole cluster, and send no further power-off",
		Long: `Set the stop switch of the FenceLedger: in the whole cluster no fence begins, and no further
power-off is sent. What was begun runs to its end. You need ClusterRole nodefence-administer.`,
		Example: `  kubectl fence stop --reason "the core switch is being replaced"`,
	}
	a := p.actingFlags(cmd, false).reasonFlag(cmd)
	return p.ledgerCommand(cmd, a, func(_ context.Context, _ *cluster.Client, l *api.FenceLedger) (act.Change, error) {
		return act.Stop(l, a.why())
	})
}

func (p *program) startCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "start",
		Short:   "Let fences begin again after a stop",
		Example: `  kubectl fence start --reason "the switch is replaced"`,
	}
	return p.ledgerCommand(cmd, p.actingFlags(cmd, false).reasonFlag(cmd), func(_ context.Context, _ *cluster.Client, l *api.FenceLedger) (act.Change, error) {
		return act.Start(l)
	})
}

func (p *program) endCoolDownCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "end-cool-down --reason WHY",
		Short: "Let fences begin before the cool-down after a storm is over",
		Long: `End the cool-downs that are under way after storms: fences begin before limits.stormCoolDown is over.
A storm that is not over still holds fences. A cool-down that begins later is not ended.`,
		Example: `  kubectl fence end-cool-down --reason "the switch is replaced"`,
	}
	return p.ledgerWord(cmd, func(l *api.FenceLedger, who act.Person) (act.Change, error) {
		if who.Reason == "" {
			return act.Change{}, errors.New("say why, for those who read it later: --reason")
		}
		return act.EndCoolDown(l, who)
	}, true)
}

func (p *program) confirmRestoreCommand() *cobra.Command {
	return p.ledgerWord(&cobra.Command{
		Use:   "confirm-restore",
		Short: "Let fences begin after the API server was restored from a backup",
		Long: `Give your word that fences may begin after the API server's state went back in time (REASON
StateWentBack). Compare first what was restored with what runs. nodefence can't check it.`,
		Example: `  kubectl fence confirm-restore`,
	}, act.ConfirmRestore, false)
}

// ledgerWord fills in what the commands share by which a person gives their word to the ledger.
func (p *program) ledgerWord(cmd *cobra.Command, build func(*api.FenceLedger, act.Person) (act.Change, error), reasoned bool) *cobra.Command {
	a := p.actingFlags(cmd, false)
	if reasoned {
		a.reasonFlag(cmd)
	}
	return p.ledgerCommand(cmd, a, func(ctx context.Context, c *cluster.Client, l *api.FenceLedger) (act.Change, error) {
		who, err := a.person(ctx, c)
		if err != nil {
			return act.Change{}, err
		}
		return build(l, who)
	})
}

func (p *program) ledgerCommand(cmd *cobra.Command, a *acting, build func(context.Context, *cluster.Client, *api.FenceLedger) (act.Change, error)) *cobra.Command {
	cmd.Args = noArgument
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		return p.brake(cmd.Context(), c, a, func(ctx context.Context) (act.Change, error) {
			l, err := c.Ledger(ctx)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FenceLedger", api.LedgerName, cluster.LedgerRemedy)
			}
			return build(ctx, c, l)
		})
	}
	return cmd
}

// brake carries out a change that is no request to a fence. It waits for no name: where the API server does not say who
// the person is, the record of the change has none.
func (p *program) brake(ctx context.Context, c *cluster.Client, a *acting, build func(context.Context) (act.Change, error)) error {
	ch, err := build(ctx)
	if err != nil {
		return err
	}
	named := func(ch act.Change) act.Change { return ch }
	if ch.IsBrake() {
		if who, err := c.Whoami(ctx); err == nil {
			named = func(ch act.Change) act.Change { return ch.NamedBy(act.Person{Name: who, Reason: a.why()}, c.Now()) }
		}
	}
	return a.change(ctx, c, named(ch), "", func(ctx context.Context) (act.Change, error) {
		ch, err := build(ctx)
		return named(ch), err
	})
}

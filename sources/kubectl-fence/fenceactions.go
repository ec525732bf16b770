package main

import (
	"context"

	"github.com/spf13/cobra"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// building makes a change of an open fence.
type building func(*api.NodeFence, act.Person) (act.Change, error)

func (p *program) approveCommand() *cobra.Command {
	return p.fenceCommand(&cobra.Command{
		Use:     "approve NODE",
		Short:   "Let a fence begin that waits for a person (mode RequireApproval)",
		Example: `  kubectl fence approve worker-7 --reason "seen dead on its console"`,
	}, act.Approve)
}

func (p *program) abortCommand() *cobra.Command {
	return p.fenceCommand(&cobra.Command{
		Use:   "abort NODE",
		Short: "End a fence that has cut nothing, or stop its further power-offs",
		Long: `End a fence that has not cut power yet. If it has, no further power-off is sent, and what was begun
is proven, released and recovered. The same failure opens no other fence.`,
		Example: `  kubectl fence abort worker-7 --reason "it is being serviced"`,
	}, act.Abort)
}

func (p *program) retryCommand() *cobra.Command {
	return p.fenceCommand(&cobra.Command{
		Use:   "retry NODE",
		Short: "Start a fence once more that was given up, or read its device now",
		Long: `Start a fence once more that was given up (phase Failed), with the policies, ConfigMaps and Secrets
of now. Of a fence that waits for its device, have the device read now. A machine that nodefence has
switched off, and that stays off, is switched on again.`,
		Example: `  kubectl fence retry worker-7`,
	}, act.Retry)
}

func (p *program) liftCommand() *cobra.Command {
	return p.fenceCommand(&cobra.Command{
		Use:   "lift NODE",
		Short: "Give a healthy node back that its policy keeps isolated (recovery.uncordon Manual)",
		Long: `Give a node back that was fenced and is healthy again, under a policy with recovery.uncordon:
Manual. Its taint and cordon are removed.`,
		Example: `  kubectl fence lift worker-7 --reason "power supply replaced"`,
	}, act.Lift)
}

func (p *program) confirmOffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "confirm-off NODE",
		Short: "Give your word that a node's machine is off",
		Long: `Give your word that a node's machine is off. nodefence reads each power device of the machine
first, and a device that reads on refuses your word. Your word counts where no device is bound, or
where none answered in two reads: the node's pods and volumes are then released to start elsewhere.
If the machine is on, data is lost. So the node's name must be typed, or given with --confirm.`,
		Example: `  kubectl fence confirm-off worker-7 --reason "unplugged, seen dark"`,
	}
	broken := false
	cmd.Flags().BoolVar(&broken, "hardware-failure", false, "The machine is beyond repair: the out-of-service taint says hardwarefailure, not nodeshutdown")
	return p.typedCommand(cmd, true, func(f *api.NodeFence, who act.Person) (act.Change, error) {
		var as api.OutOfServiceValue
		if broken {
			as = api.HardwareFailure
		}
		return act.ConfirmOff(f, who, as)
	})
}

func (p *program) trustCommand() *cobra.Command {
	return p.typedCommand(&cobra.Command{
		Use:   "trust NODE",
		Short: "Say that a node's device may be believed again after a power cut that was none",
		Long: `Say that the device of a node may be believed again. A power cut of the node was refuted (REASON
CutRefuted): the device read off twice, and then the node came back under the boot ID of before. Until you
say so no fence of the node begins. Check the work that was moved, and the device, first. If the device
still says off of a machine that is on, data is lost. So the node's name must be typed, or given with
--confirm.`,
		Example: `  kubectl fence trust worker-7 --reason "its address was that of worker-8; corrected"`,
	}, true, act.Trust)
}

// fenceCommand fills in what the commands about an open fence share.
func (p *program) fenceCommand(cmd *cobra.Command, build building) *cobra.Command {
	return p.typedCommand(cmd, false, build)
}

func (p *program) typedCommand(cmd *cobra.Command, typed bool, build building) *cobra.Command {
	a := p.actingFlags(cmd, typed).reasonFlag(cmd).waitFlag(cmd)
	cmd.Args, cmd.ValidArgsFunction = oneName("node"), p.fenced()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		who, err := a.person(cmd.Context(), c)
		if err != nil {
			return err
		}
		node := nodeNamed(args[0])
		anew := func(ctx context.Context) (act.Change, error) {
			f, err := fenceOf(ctx, c, node)
			if err != nil {
				return act.Change{}, err
			}
			return build(f, who)
		}
		ch, err := anew(cmd.Context())
		if err != nil {
			return err
		}
		name := ""
		if typed {
			name = node
		}
		return a.change(cmd.Context(), c, ch, name, anew)
	}
	return cmd
}

// fenceOf is the record of a node. If it has none, the error says whether there is such a node.
func fenceOf(ctx context.Context, c *cluster.Client, node string) (*api.NodeFence, error) {
	f, err := c.Fence(ctx, node)
	if !cluster.Absent(err) {
		return f, err
	}
	names, listed := c.NodeNames(ctx)
	for _, n := range names {
		if n == node {
			return nil, cluster.NoSuch(err, "fence of node", node, "it was never fenced; kubectl fence why "+node)
		}
	}
	if listed != nil {
		return nil, cluster.NoSuch(err, "fence of node", node, "kubectl fence status lists what there is")
	}
	return nil, view.NoSuchNode(node, names)
}

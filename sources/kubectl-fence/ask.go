package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) askCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ask NODE --reason WHY",
		Short: "Ask for the fence of a node, healthy or not (a FenceRequest)",
		Long: `Ask for the fence of a node, whether it is healthy or not: a FenceRequest is created in nodefence's
namespace. The node's policy says what is done, and all limits hold. A node that still lives is
drained first, unless --drain is Skip. Deleting the FenceRequest
before power is cut withdraws it.`,
		Example:           `  kubectl fence ask worker-7 --reason "its fan screams"`,
		Args:              oneName("node"),
		ValidArgsFunction: p.nodes(),
	}
	a := p.actingFlags(cmd, false).reasonFlag(cmd)
	drain := cmd.Flags().String("drain", string(api.DrainIfReady), "whether a node that still lives gives its pods away first: IfReady, or Skip")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		q, says, err := a.fenceRequest(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		first, err := act.Drain(q, *drain)
		if err != nil {
			return err
		}
		if err := a.agree(says+first+"\n", ""); err != nil {
			return err
		}
		return a.send(cmd.Context(), c, q)
	}
	return cmd
}

// fenceRequest is the FenceRequest for a node, with words for what it will do.
func (a *acting) fenceRequest(ctx context.Context, c *cluster.Client, node string) (*api.FenceRequest, string, error) {
	s, err := c.Look(ctx)
	if err != nil {
		return nil, "", err
	}
	if s.Node(node) == nil {
		return nil, "", view.NoSuchNode(node, s.Names())
	}
	who, err := a.person(ctx, c)
	if err != nil {
		return nil, "", err
	}
	_, resolved := s.Deciding(node)
	q, says, err := act.Ask(node, a.namespace(), who, resolved, s.Target(node), s.Fence(node))
	return q, strings.Join(says, "\n") + "\n", err
}

// send creates a FenceRequest, as far as --dry-run lets it.
func (a *acting) send(ctx context.Context, c *cluster.Client, q *api.FenceRequest) error {
	dry := cluster.DryRun(a.dry)
	if dry != cluster.DryRunClient {
		made, err := c.Ask(ctx, q, dry)
		if err != nil {
			return err
		}
		q = made
	}
	if dry != cluster.DryRunNone {
		fmt.Fprintf(a.Out, "FenceRequest for node %s (%s dry run)\n", q.Spec.NodeName, dry)
		return nil
	}
	fmt.Fprintf(a.Out, "fencerequest.nodefence.io/%s created in namespace %s\n", q.Name, q.Namespace)
	fmt.Fprintf(a.ErrOut, "follow it: kubectl fence status -w; withdraw it: kubectl delete fencerequest -n %s %s\n", q.Namespace, q.Name)
	return nil
}

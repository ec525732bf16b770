package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
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
		build := func() (prepared, error) { return a.fenceRequest(cmd.Context(), c, nodeNamed(args[0]), *drain) }
		q, err := a.agreed("", build, func() error { return nil })
		if err != nil {
			return err
		}
		return a.send(cmd.Context(), c, q)
	}
	return cmd
}

// prepared is a FenceRequest, with words for what holds all fences now, and for what it will do to which Node.
type prepared struct {
	request *api.FenceRequest
	brakes  string
	says    string
	node    types.UID
}

// shown identifies what a person was shown. What holds all fences may change meanwhile: the fence is the same.
func (q prepared) shown() string { return act.Digest(q.node, q.says) }

// agreed is the FenceRequest that a person has agreed to, and that begins does not refuse. It is built
// anew once they have agreed, as the last thing that is read: what they did not see is not asked for, as
// on the page of kubectl fence ui. typed is what they must type; empty asks for yes or no.
func (a *acting) agreed(typed string, build func() (prepared, error), begins func() error) (*api.FenceRequest, error) {
	seen, err := build()
	if err == nil {
		err = begins()
	}
	if err != nil {
		return nil, err
	}
	if err := a.agree(seen.brakes+seen.says, typed); err != nil {
		return nil, err
	}
	var now prepared
	if err = begins(); err == nil {
		now, err = build()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("nothing was done: %w", err)
	case now.shown() != seen.shown():
		return nil, errors.New("nothing was done: what would be done has changed since it was shown; repeat the command")
	}
	return now.request, nil
}

// fenceRequest is the FenceRequest for a node.
func (a *acting) fenceRequest(ctx context.Context, c *cluster.Client, node, drain string) (prepared, error) {
	s, err := c.Look(ctx)
	if err != nil {
		return prepared{}, err
	}
	n := s.Node(node)
	if n == nil {
		return prepared{}, view.NoSuchNode(node, s.Names())
	}
	who, err := a.person(ctx, c)
	if err != nil {
		return prepared{}, err
	}
	_, resolved := s.Deciding(node)
	q, says, err := act.Ask(node, a.namespace(), who, resolved, look.NodeFrom(n, ""), s.Target(node), s.Fence(node))
	if err != nil {
		return prepared{}, err
	}
	first, err := act.Drain(q, drain)
	brakes := s.Holds()
	if len(brakes) > 0 {
		brakes = append(brakes, fmt.Sprintf("A fence that has not begun within %s of this request ends again (%s), or waits for a condition of its policy.", api.RequestValidity, api.RequestExpired))
	}
	return prepared{q, view.Lines(brakes), view.Lines(append(says, first)), n.UID}, err
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

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) enrolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enrol NODE",
		Short: "Make what a healthy node's device says the identity of its machine",
		Long: `Make what a healthy node's device says the identity of its machine, in the place of the system UUID:
where the UUID is no identity (reason NoIdentity), differs from what the BMC says, or is that of a
board that was replaced (WrongMachine). The devices are read first. The command refuses a node that
is not healthy, a device that does not read on, and an identity that another node has. nodefence
can't check that the device is the node's: if it is not, a fence cuts another machine. So the node's
name must be typed, or given with --confirm. It takes the right to change ConfigMaps in nodefence's
namespace, as a binding does.`,
		Example: `  kubectl fence enrol worker-7`,
		Args:    oneName("node"),
	}
	a := p.actingFlags(cmd, true)
	cmd.ValidArgsFunction = p.nodes()
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.enrol(cmd.Context(), nodeNamed(args[0])) }
	return cmd
}

// enrol has the devices of a node read, and enrols what they say.
func (a *acting) enrol(ctx context.Context, node string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	who, err := a.person(ctx, c)
	if err != nil {
		return err
	}
	if _, err := a.machine(ctx, c, node); err != nil {
		return err
	}
	target, err := c.ReadNow(ctx, node)
	if err != nil {
		return err
	}
	anew := func(ctx context.Context) (act.Change, error) {
		m, err := a.machine(ctx, c, node)
		if err != nil {
			return act.Change{}, err
		}
		m.Target = target
		return act.Enrol(m, who)
	}
	ch, err := anew(ctx)
	if err != nil {
		return err
	}
	return a.change(ctx, c, ch, node, anew)
}

// machine reads what an enrolment of a node is judged by.
func (p *program) machine(ctx context.Context, c *cluster.Client, node string) (act.Machine, error) {
	m, err := c.Machine(ctx, p.namespace(), node)
	if err != nil || m.Node != nil {
		return m, err
	}
	var names []string
	for i := range m.Nodes {
		names = append(names, m.Nodes[i].Name)
	}
	return m, view.NoSuchNode(node, names)
}

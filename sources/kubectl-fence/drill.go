package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/plan"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) drillCommand() *cobra.Command {
	timeout := 30 * time.Minute
	cmd := &cobra.Command{
		Use:   "drill NODE",
		Short: "A fire drill: fence one healthy node for real, follow it, and report the times",
		Long: `Fence one healthy node for real, to see that it works before it is needed: a FenceRequest is
created, the fence is followed until the node is back, and the time of each step is reported. The
FenceRequest is deleted at the end. The node's pods are killed, so its name must be typed, or given
with --confirm. A node that is not Ready, that no policy covers, or whose devices do not answer or would
not switch its machine off and on again is refused, and so is a drill that something would hold
(kubectl fence plan NODE).`,
		Example:           `  kubectl fence drill worker-7`,
		Args:              oneName("node"),
		ValidArgsFunction: p.nodes(),
	}
	a := p.actingFlags(cmd, true)
	var o plan.Options
	planFlags(cmd, &o)
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "How long to follow it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		node := nodeNamed(args[0])
		build := func() (prepared, error) { return a.drillRequest(cmd.Context(), c, node) }
		q, err := a.agreed(node, build, func() error { return a.wouldBegin(cmd.Context(), node, o) })
		if err != nil {
			return err
		}
		if a.dry != string(cluster.DryRunNone) {
			return a.send(cmd.Context(), c, q)
		}
		return a.carryOut(cmd.Context(), c, q, timeout)
	}
	return cmd
}

// carryOut asks for the drill, follows it, and withdraws what it asked for.
func (a *acting) carryOut(ctx context.Context, c *cluster.Client, q *api.FenceRequest, timeout time.Duration) error {
	q, err := c.Ask(ctx, q, cluster.DryRunNone)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // it would end the program (drill … | head); the write that failed says it too
	defer signal.Stop(pipe)
	a.Out = unread{a.Out, cancel}
	err = a.drill(ctx, c, q)
	withdrawn := a.withdraw(c, q)
	if ctx.Err() != nil && withdrawn == nil {
		fmt.Fprintln(a.ErrOut, "the FenceRequest of the drill was withdrawn: its fence ends if no power was cut, and runs to its end otherwise")
	}
	return errors.Join(err, withdrawn)
}

// unread is a writer that says when nobody reads on.
type unread struct {
	io.Writer
	lost func()
}

func (w unread) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if err != nil {
		w.lost()
	}
	return n, err
}

// drillRequest is the FenceRequest of a drill.
func (a *acting) drillRequest(ctx context.Context, c *cluster.Client, node string) (prepared, error) {
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
	q, says, err := act.Drill(act.Drilled{Node: n, Fence: s.Fence(node), Target: s.Target(node), Policy: resolved, Ledger: s.Ledger}, a.namespace(), who)
	return prepared{q, view.Lines(s.Holds()), view.Lines(says), n.UID}, err
}

// wouldBegin asks plan whether a fence of the node would begin now, and bring the machine back: a drill
// is for a cluster in which nothing else is wrong. What nodefence keeps of the devices is not all that
// it knows of them.
func (a *acting) wouldBegin(ctx context.Context, node string, o plan.Options) error {
	o.Node = node
	reports, _, err := a.planned(ctx, o)
	if err != nil {
		return err
	}
	for i := range reports {
		if why := cmp.Or(reports[i].Held(), reports[i].NotBack()); why != "" {
			return fmt.Errorf("no drill of node %s: %s (kubectl fence plan %[1]s)", node, why)
		}
	}
	return nil
}

// drill follows a drill until its end, and reports it.
func (a *acting) drill(ctx context.Context, c *cluster.Client, q *api.FenceRequest) error {
	asked := q.CreationTimestamp.Time
	fmt.Fprintf(a.Out, "asked by fencerequest.nodefence.io/%s at %s\n", q.Name, asked.UTC().Format(time.RFC3339))
	told, trouble := 0, ""
	for {
		f, over, err := drilled(ctx, c, q)
		if over && err != nil {
			return err
		}
		if err != nil && trouble == "" && ctx.Err() == nil {
			trouble = "; last trouble: " + cluster.Explain(err).Error()
			fmt.Fprintf(a.ErrOut, "the drill goes on, though it could not be looked at: %s\n", inOneLine(cluster.Explain(err)))
		} else if err == nil {
			trouble = ""
		}
		if f != nil {
			for _, e := range f.Status.History[min(told, len(f.Status.History)):] {
				fmt.Fprintf(a.Out, "%8s  %-10s  %s: %s\n", e.At.Sub(asked).Round(time.Second), e.Phase, e.Reason, view.OneLine(e.Message))
			}
			told = max(told, len(f.Status.History))
		}
		if over {
			return a.reportDrill(asked, f)
		}
		if a.sleep(ctx) != nil {
			return fmt.Errorf("the drill of node %s is not over, and is followed no longer: kubectl fence why %[1]s%s", q.Spec.NodeName, trouble)
		}
	}
}

// drilled is the fence that answers the request, nil as long as there is none, and whether it is over.
// An error of one that is over says why it is followed no further; any other may pass.
func drilled(ctx context.Context, c *cluster.Client, q *api.FenceRequest) (*api.NodeFence, bool, error) {
	now, err := c.Request(ctx, q.Namespace, q.Name)
	if err != nil {
		return nil, cluster.Absent(err), cluster.NoSuch(err, "FenceRequest", q.Name, "somebody withdrew it")
	}
	node, number := q.Spec.NodeName, now.Status.NodeFence.FenceNumber
	if number == 0 {
		if p := meta.FindStatusCondition(now.Status.Conditions, api.ConditionProcessing); p != nil && p.Status == metav1.ConditionFalse {
			return nil, true, fmt.Errorf("the drill of node %s was refused: %s: %s", node, p.Reason, p.Message)
		}
		return nil, false, nil
	}
	f, err := c.Fence(ctx, node)
	switch {
	case err != nil:
		return nil, cluster.Absent(err), cluster.NoSuch(err, "fence of node", node, "its record was deleted")
	case f.Status.FenceNumber > number:
		return nil, true, fmt.Errorf("fence %d of node %s is over, and fence %d has begun: kubectl fence history %[2]s", number, node, f.Status.FenceNumber)
	case f.Status.FenceNumber < number:
		return nil, false, nil
	}
	return f, !f.Open(), nil
}

// reportDrill tells the times and the verdict.
func (a *acting) reportDrill(asked time.Time, f *api.NodeFence) error {
	fmt.Fprintln(a.Out)
	if err := (&output{}).table(a.Out, view.DrillTable(asked, f)); err != nil {
		return err
	}
	if err := view.DrillFailed(f); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\nthe drill of node %s has passed\n", f.Spec.NodeName)
	return nil
}

// withdrawWithin bounds the clean-up, which is also done after Ctrl-C, and when nobody reads on.
const withdrawWithin = 10 * time.Second

// withdraw deletes the request of the drill. Where no power was cut, that ends its fence too.
func (a *acting) withdraw(c *cluster.Client, q *api.FenceRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawWithin)
	defer cancel()
	if err := c.Withdraw(ctx, q); err != nil && !cluster.Absent(err) {
		return fmt.Errorf("the FenceRequest of the drill was not deleted: kubectl delete fencerequest -n %s %s: %w", q.Namespace, q.Name, err)
	}
	return nil
}

package act

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Lost is a person's statement that nodes are lost, and not merely out of nodefence's sight (S15). What was said before,
// and still counts, is said again. A node whose Lease moves is not lost, and then nothing is said.
func Lost(l *api.FenceLedger, nodes []string, lasts time.Duration, p Person) (Change, error) {
	switch {
	case p.Reason == "":
		return Change{}, fmt.Errorf("say why, for those who read it later: --reason")
	case lasts <= 0 || lasts > admission.LostFor:
		return Change{}, fmt.Errorf("--for is %s: a statement that nodes are lost lasts at most %s", lasts, admission.LostFor)
	}
	said := listLost(l, nodes, p.At.Time)
	lost, err := markStill(l, said)
	if err != nil {
		return Change{}, err
	}
	until := observed.StampOf(p.At.Add(lasts))
	c := Change{Resource: "fenceledgers", Name: l.Name, Patch: map[string]any{
		"metadata": guard(&l.ObjectMeta), "spec": map[string]any{"lost": api.LostNodes{By: p.Name, Reason: p.Reason, Until: until, Nodes: lost}},
	}}
	c.Says = []string{
		fmt.Sprintf("You say that %s lost: dead, and not merely out of nodefence's sight. nodefence can't check that: %s.", countNodes(len(lost)), strings.Join(said, ", ")),
		fmt.Sprintf("Until %s their Leases do not count where most Leases stand still. All other limits hold, and no machine is cut because of it.", clock(until)),
		"Once you have confirmed of such a node that its machine is off (kubectl fence confirm-off NODE), its work is released, in a storm too.",
	}
	c.Done = fmt.Sprintf("%s said to be lost by %s until %s", countNodes(len(lost)), p.Name, clock(until))
	return c, nil
}

// listLost returns the given nodes and the nodes of a statement that still counts, sorted by name.
func listLost(l *api.FenceLedger, nodes []string, now time.Time) []string {
	said := slices.Clone(nodes)
	if w := l.Spec.Lost; w != nil {
		for _, n := range w.Nodes {
			if admission.Lost(l, n.NodeName, now) != nil {
				said = append(said, n.NodeName)
			}
		}
	}
	slices.Sort(said)
	return slices.Compact(said)
}

// markStill returns each node with the mark at which its Lease stands. A Lease that moves is an error.
func markStill(l *api.FenceLedger, nodes []string) (lost []api.LostNode, err error) {
	var moving []string
	for _, n := range nodes {
		i := slices.IndexFunc(l.Status.Leases.Still, func(s api.StillLease) bool { return s.NodeName == n && s.Stale })
		if i < 0 {
			moving = append(moving, n)
			continue
		}
		lost = append(lost, api.LostNode{NodeName: n, Renewed: l.Status.Leases.Still[i].Renewed})
	}
	if len(moving) > 0 {
		return nil, fmt.Errorf("not lost: %s: nodefence has not seen that the Lease stands still (kubectl get leases -n kube-node-lease)", strings.Join(moving, ", "))
	}
	return lost, nil
}

// NotLost takes a statement back that nodes are lost.
func NotLost(l *api.FenceLedger) (Change, error) {
	w := l.Spec.Lost
	if w == nil {
		return Change{}, fmt.Errorf("FenceLedger %s: nobody has said that nodes are lost", l.Name)
	}
	c := Change{Resource: "fenceledgers", Name: l.Name, Patch: map[string]any{"metadata": guard(&l.ObjectMeta), "spec": map[string]any{"lost": nil}}}
	c.Says = []string{fmt.Sprintf("%s has said that %s lost: %s. You take that back: their Leases count again.", w.By, countNodes(len(w.Nodes)), w.Reason)}
	c.Done = "no node is said to be lost any more"
	return c, nil
}

func countNodes(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", n)
}

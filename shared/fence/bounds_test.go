package fence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// manyRunning are so many fences of nodes that are gone.
func manyRunning(c *Cluster, n int, p api.Phase) {
	for i := range n {
		c.Fences = append(c.Fences, running(fmt.Sprint("gone", i), types.UID(fmt.Sprint("g", i)), p))
	}
}

// TestWhatTheLedgerCannotKeepIsHeld: its lists have bounds, and whatever would not fit
// into one is held in words, and is not cut (S14, S15, S28).
func TestWhatTheLedgerCannotKeepIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *Cluster, *api.FenceLedger)
		want   api.Reason
	}{
		"one slot is left":  {func(_ *api.NodeFence, c *Cluster, _ *api.FenceLedger) { manyRunning(c, maxSlots-1, api.Fencing) }, ""},
		"no slot is left":   {func(_ *api.NodeFence, c *Cluster, _ *api.FenceLedger) { manyRunning(c, maxSlots, api.Fencing) }, api.TooManyConcurrent},
		"one has its place": {func(_ *api.NodeFence, c *Cluster, _ *api.FenceLedger) { manyRunning(c, maxUnderWay-1, api.Recovering) }, ""},
		"none has":          {func(_ *api.NodeFence, c *Cluster, _ *api.FenceLedger) { manyRunning(c, maxUnderWay, api.Recovering) }, api.TooManyConcurrent},
		"one storm may be noted": {func(_ *api.NodeFence, _ *Cluster, l *api.FenceLedger) {
			l.Status.Storms = make([]api.Storm, maxStorms-1)
		}, ""},
		"none may": {func(_ *api.NodeFence, _ *Cluster, l *api.FenceLedger) {
			l.Status.Storms = make([]api.Storm, maxStorms)
		}, api.TooManyUnhealthy},
	} {
		f, cl, l := admitWorld(walkStart)
		lim(f).MaxConcurrent, lim(f).Selector = 9999, &api.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}
		for i := range cl.Nodes {
			cl.Nodes[i].Labels = map[string]string{"pool": "a"}
		}
		c.change(f, &cl, l)
		got, storming := api.Reason(""), Storming(f, nil, l)
		if v := Admit(f, cl, l, walkStart); v != nil {
			got = v.Reason
		}
		if got != c.want || (storming != "") != (got == api.TooManyUnhealthy) {
			t.Errorf("%s: %q, want %q; a release is held: %q", name, got, c.want, storming)
		}
	}
}

// TestMoreBudgetsThanAreKept: the fence of a node that was in more than are named counts in
// each, whatever its labels are by now (S14).
func TestMoreBudgetsThanAreKept(t *testing.T) {
	for _, n := range []int{maxBudgets, maxBudgets + 1} {
		f, c, l := admitWorld(walkStart)
		for i := range n {
			c.Budgets = append(c.Budgets, api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i)}})
		}
		c.Fences[0].Status.Phase = api.Fencing
		placeUnderWay(l, c)
		placeUnderWay(l, c)
		more := n > maxBudgets
		kept := l.Status.UnderWay[0].Budgets
		if len(kept) > maxBudgets || slices.Contains(kept, allBudgets) != more {
			t.Errorf("%d budgets: %v", n, kept)
		}
		other := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "another"}}
		if chose(&other, f, c, l) != more {
			t.Errorf("%d budgets: counts in another: %t", n, !more)
		}
	}
}

// TestALongMessageFitsIntoTheLedger.
func TestALongMessageFitsIntoTheLedger(t *testing.T) {
	f, c, l := admitWorld(walkStart)
	long := strings.Repeat("1", 3000) + "%"
	lim(f).MaxUnhealthy.Type, lim(f).MaxUnhealthy.StrVal = 1, long
	if v := Admit(f, c, l, walkStart); v == nil || len(l.Status.Storms) != 1 || len(l.Status.Storms[0].Message) > longestMessage {
		t.Errorf("%+v", v)
	}
}

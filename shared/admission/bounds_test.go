package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// manyRunning are so many fences of nodes that are gone.
func manyRunning(c *admission.Picture, n int, p api.Phase) {
	for i := range n {
		c.Fences = append(c.Fences, fencetest.Running(fmt.Sprint("gone", i), types.UID(fmt.Sprint("g", i)), p))
	}
}

// TestWhatTheLedgerCannotKeepIsHeld: its lists have bounds, and whatever would not fit
// into one is held in words, and is not cut (S14, S15, S28).
func TestWhatTheLedgerCannotKeepIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *admission.Picture, *api.FenceLedger)
		want   api.Reason
	}{
		"one slot is left": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			manyRunning(c, admission.MaxSlots-1, api.Fencing)
		}, ""},
		"no slot is left": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			manyRunning(c, admission.MaxSlots, api.Fencing)
		}, api.TooManyConcurrent},
		"one has its place": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			manyRunning(c, admission.MaxUnderWay-1, api.Recovering)
		}, ""},
		"none has": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			manyRunning(c, admission.MaxUnderWay, api.Recovering)
		}, api.TooManyConcurrent},
		"one storm may be noted": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Storms = make([]api.Storm, admission.MaxStorms-1)
		}, ""},
		"none may": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Storms = make([]api.Storm, admission.MaxStorms)
		}, api.TooManyUnhealthy},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		fencetest.Limits(f).MaxConcurrent, fencetest.Limits(f).Selector = 9999, &api.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}
		for i := range cl.Nodes {
			cl.Nodes[i].Labels = map[string]string{"pool": "a"}
		}
		c.change(f, &cl, l)
		got, storming := api.Reason(""), admission.Storming(f, nil, l)
		if v := admission.Admit(f, cl, l, fencetest.Start); v != nil {
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
	for _, n := range []int{admission.MaxBudgets, admission.MaxBudgets + 1} {
		f, c, l := fencetest.World(fencetest.Start)
		for i := range n {
			c.Budgets = append(c.Budgets, api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", i)}})
		}
		c.Fences[0].Status.Phase = api.Fencing
		admission.PlaceUnderWay(l, c)
		admission.PlaceUnderWay(l, c)
		more := n > admission.MaxBudgets
		kept := l.Status.UnderWay[0].Budgets
		if len(kept) > admission.MaxBudgets || slices.Contains(kept, admission.AllBudgets) != more {
			t.Errorf("%d budgets: %v", n, kept)
		}
		other := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "another"}}
		if admission.Chose(&other, f, c, l) != more {
			t.Errorf("%d budgets: counts in another: %t", n, !more)
		}
	}
}

// TestALongMessageFitsIntoTheLedger.
func TestALongMessageFitsIntoTheLedger(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	long := strings.Repeat("1", 3000) + "%"
	fencetest.Limits(f).MaxUnhealthy.Type, fencetest.Limits(f).MaxUnhealthy.StrVal = 1, long
	if v := admission.Admit(f, c, l, fencetest.Start); v == nil || len(l.Status.Storms) != 1 || len(l.Status.Storms[0].Message) > clip.MessageBytes {
		t.Errorf("%+v", v)
	}
}

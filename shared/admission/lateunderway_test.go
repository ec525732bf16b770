package admission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// TestANodeThatNobodyKnows counts as of the control plane, and in each budget, until its fence has
// ended, also once there is a Node of its name again (S13, S14).
func TestANodeThatNobodyKnows(t *testing.T) {
	f, c, l := budgetedWorld(t, api.Recovering)
	there := slices.Clone(c.Nodes)
	fencetest.NodeGone(&c)
	l.Status.UnderWay = nil
	for i, nodes := range [][]admission.Node{c.Nodes, there} { // it is gone; it is there again
		c.Nodes = nodes
		admission.PlaceUnderWay(l, c)
		want := []api.UnderWay{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, ControlPlane: true, Budgets: []string{"*"}}}
		if d := cmp.Diff(want, l.Status.UnderWay); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	c.Fences[0].Status.Phase = api.Finished
	if v := admission.Admit(f, c, l, fencetest.Start); v != nil || len(l.Status.UnderWay) != 1 || l.Status.UnderWay[0].NodeName != "n0" {
		t.Errorf("%+v: %+v", v, l.Status.UnderWay)
	}
}

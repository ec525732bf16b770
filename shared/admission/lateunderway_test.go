package admission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// TestWhatWasReadLastCounts: of a fence that asks too, and was read again after the ledger, the
// later look counts (S13).
func TestWhatWasReadLastCounts(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	l.Status.Census = admission.TakeCensus(admission.Watched{Nodes: c.Nodes, Fences: []*api.NodeFence{f}, Leases: l.Status.Leases}, fencetest.Start)
	asks := f.DeepCopy()
	asks.Name, asks.Spec.NodeName, asks.UID = "n1", "n1", "f1"
	later := asks.DeepCopy()
	later.Status.Phase = api.Recovering
	l.Status.UnderWay = []api.UnderWay{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1}}
	o, lacks := admission.ByCensus(l, f, nodeOf(c, "n0"), []*api.NodeFence{asks}, &admission.ReadAnew{Fences: []*api.NodeFence{later}}, nil, nil, fencetest.Start)
	if lacks != "" || len(o.Fences) != 2 || o.Fences[1].Status.Phase != api.Recovering {
		t.Errorf("%q, %+v", lacks, o.Fences)
	}
}

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

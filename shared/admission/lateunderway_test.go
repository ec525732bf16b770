package admission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// TestALateCensusEndsNoFence: a fence that the ledger has under way is over only if it was seen to
// end. Where it is shown as it was before, or not at all, nothing is decided by the census (S13, S14).
func TestALateCensusEndsNoFence(t *testing.T) {
	now := fencetest.Start
	seen := func(uid types.UID, number int64, phase api.Phase, marks ...api.FenceMark) *api.CountedFence {
		return &api.CountedFence{NodeName: "n1", FenceUID: uid, FenceNumber: number, Version: "8", Phase: phase, Marks: marks}
	}
	for name, tc := range map[string]struct {
		seen         *api.CountedFence
		lacks, keeps bool
	}{
		"it recovers":                         {seen("u", 2, api.Recovering), false, true},
		"its flow begins again":               {seen("u", 2, api.Pending, api.FenceRestarted), false, true},
		"it has ended":                        {seen("u", 2, api.Finished), false, false},
		"a later fence of its node waits":     {seen("u", 3, api.Pending), false, false},
		"a later fence of its node has ended": {seen("u", 3, api.Finished), false, false},
		"it waits, as it did before its slot": {seen("u", 2, api.Pending), true, true},
		"the fence before it recovers":        {seen("u", 1, api.Recovering), true, true},
		"the fence before it has ended":       {seen("u", 1, api.Finished), true, true},
		"another record of it has ended":      {seen("v", 2, api.Finished), true, true},
		"it is not shown":                     {nil, true, true},
	} {
		f, c, l := fencetest.World(now)
		l.Status.Census = admission.TakeCensus(admission.Watched{Nodes: c.Nodes, Fences: []*api.NodeFence{f}, Leases: l.Status.Leases}, now)
		if tc.seen != nil {
			l.Status.Census.Fences = append(l.Status.Census.Fences, *tc.seen)
		}
		l.Status.UnderWay = []api.UnderWay{{NodeName: "n1", FenceUID: "u", FenceNumber: 2, ControlPlane: true}}
		o, lacks := admission.ByCensus(l, f, nodeOf(c, "n0"), nil, nil, nil, nil, now)
		if (lacks != "") != tc.lacks {
			t.Errorf("%s: it lacks %q, want %t", name, lacks, tc.lacks)
		}
		if lacks != "" {
			continue
		}
		if admission.PlaceUnderWay(l, admission.NewPicture(o)); len(l.Status.UnderWay) == 1 != tc.keeps {
			t.Errorf("%s: kept are %+v, want %t", name, l.Status.UnderWay, tc.keeps)
		}
	}
}

// TestWhatWasReadLastCounts: of a fence that asks too, and was read again after the ledger, the
// later look counts (S13).
func TestWhatWasReadLastCounts(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	l.Status.Census = admission.TakeCensus(admission.Watched{Nodes: c.Nodes, Fences: []*api.NodeFence{f}, Leases: l.Status.Leases, Admitted: []api.Reservation{{NodeName: "n1"}}}, fencetest.Start)
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

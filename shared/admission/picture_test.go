package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestWhatIsMissingStaysMissing: that missing nodes are counted makes none of them there.
// The status lists the same ones again, says where no Node is, and neither holds a node
// that is not there nor finds another policy's say over it (S14, S28).
func TestWhatIsMissingStaysMissing(t *testing.T) {
	yes := true
	alone := fencetest.Machine("x", "", fencetest.Start.Add(-time.Hour), fencetest.FailedMachine)
	alone.OwnerReferences = []metav1.OwnerReference{{UID: "set", Controller: &yes}}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Action: api.ActionReboot, Exclude: &api.ExcludedNodes{NodeNames: []string{"gone"}},
		MissingNodes: &api.MissingNodesRule{NodeNames: []string{"gone"}}, ControlPlane: api.ControlPlane{EtcdNodeNames: []string{"gone"}},
		Machines: &api.MachinesRule{Selector: policy.EveryNode, WithoutNode: new(api.DeleteMachine)},
	}}
	q := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: &api.LabelSelector{MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "DoesNotExist"}}}}}
	_, w, l := fencetest.World(fencetest.Start)
	for i := range w.Nodes {
		w.Nodes[i].Labels = map[string]string{"pool": "p"}
	}
	o := admission.Observed{Nodes: w.Nodes, Policies: []api.FencePolicy{p, q}, Machines: []policy.Machine{alone}}
	for range 2 {
		o = o.Renewed(fencetest.Start)
		st := admission.PolicyStatus(&o.Policies[0], o.Policies, admission.NewPicture(o), l, fencetest.Start)
		if len(st.Missing) != 2 || len(st.FailedMachines) != 1 || st.FailedMachines[0].Held != "" || st.SelectedNodes != 12 || st.UnhealthyNodes != 3 {
			t.Errorf("missing %+v, failed %+v, %d of %d", st.Missing, st.FailedMachines, st.UnhealthyNodes, st.SelectedNodes)
		}
		if d := cmp.Diff(o.Policies[0].Status, st, cmpopts.IgnoreFields(st, "Conditions", "Effective", "SelectedNodes", "HealthyNodes", "UnhealthyNodes", "FencesAllowed")); d != "" {
			t.Error("what was read and what is written differ:", d)
		}
		want := "spec.controlPlane.etcdNodeNames and etcd's observed members differ (listed and no Node: gone); listed are gone; observed are none"
		if a := meta.FindStatusCondition(st.Conditions, admission.Accepted); a.Message != want {
			t.Error(a.Message)
		}
		if d := cmp.Diff([]string{"maxUnhealthy 4 of 12", "maxConcurrent 1"}, st.Effective); d != "" {
			t.Error(d)
		}
		o.Policies[0].Status = st
	}
}

// TestWhatIsNotKnownStaysOnRecord: what could not be read, or is not understood, renews no
// list that is decided by (S21).
func TestWhatIsNotKnownStaysOnRecord(t *testing.T) {
	for name, c := range map[string]struct {
		unread  bool
		strange string
		want    []string
	}{
		"all is known":                        {false, "", []string{"gone", ""}},
		"the Machines could not be read":      {true, "", []string{"before"}},
		"the list has what is not understood": {false, "status.missing[0].heldBy", []string{"before"}},
	} {
		p := fencetest.Expecting()
		if c.strange != "" {
			p.NotUnderstood.Unknown = []string{c.strange}
		}
		p.Spec.MissingNodes, p.Spec.Machines = &api.MissingNodesRule{NodeNames: []string{"gone"}}, &api.MachinesRule{Selector: policy.EveryNode}
		p.Status.Missing = []api.MissingNode{{NodeName: "before", Since: observed.StampOf(fencetest.Start)}}
		o := admission.Observed{Policies: []api.FencePolicy{p}, MachinesUnread: c.unread, Machines: []policy.Machine{fencetest.Machine("x", "", fencetest.Start, fencetest.FailedMachine)}}
		var got []string
		for _, m := range o.Renewed(fencetest.Start).Policies[0].Status.Missing {
			got = append(got, m.NodeName)
		}
		if d := cmp.Diff(c.want, got); d != "" || p.Status.Missing[0].NodeName != "before" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

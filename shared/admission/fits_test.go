package admission_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestWhatAMachineSaysFitsIntoAPolicysStatus: a Machine may name a node as long as it
// likes. The status of its policy, which is read to fence the others, takes 253 letters.
func TestWhatAMachineSaysFitsIntoAPolicysStatus(t *testing.T) {
	long := strings.Repeat("n", clip.NameBytes+50)
	p, then := fencetest.Expecting(), observed.StampOf(fencetest.Start.Add(-time.Minute))
	p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode}
	m := fencetest.Machine("x", long, fencetest.Start.Add(-time.Hour), fencetest.FailedMachine)
	m.OwnerReferences[0].UID = types.UID(long)
	c := admission.Picture{Machines: []policy.Machine{m}}

	missing, failed := admission.MissingNow(&p, c, then.Time), admission.FailedNow(&p, c, then.Time)
	p.Status.Missing, p.Status.FailedMachines, p.Status.ObservedAt = missing, failed, &then
	for _, now := range [][]api.MissingNode{missing, admission.MissingNow(&p, c, fencetest.Start)} {
		if len(now) != 1 || len(now[0].NodeName) > clip.NameBytes || !now[0].Since.Equal(&then) {
			t.Errorf("missing: %+v", now)
		}
	}
	for _, now := range [][]api.FailedMachine{failed, admission.FailedNow(&p, c, fencetest.Start)} {
		if len(now) != 1 || len(now[0].NodeName) > clip.NameBytes || !now[0].Since.Equal(&then) {
			t.Errorf("failed: %+v", now)
		} else if len(now[0].Owner) > clip.UIDBytes {
			t.Errorf("its owner: %+v", now[0])
		}
	}
}

// TestASelectorThatCannotBeReadFitsIntoTheRecord: it counts every node, in the policy and
// in the record alike, whose schema would not take it.
func TestASelectorThatCannotBeReadFitsIntoTheRecord(t *testing.T) {
	for name, s := range map[string]*api.LabelSelector{
		"no operator": {MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "in", Values: []string{"x"}}}},
		"no values":   {MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "In"}}},
		"no label":    {MatchLabels: map[string]string{"pool": "not well"}},
	} {
		p := api.FencePolicy{Spec: api.FencePolicySpec{Selector: s}}
		p.Name = "p"
		r, ok := policy.ResolvePolicy([]api.FencePolicy{p}, "n1", nil)
		if !ok || r.Settings.Excluded == "" || r.Limits[0].Selector != nil || !policy.Selects(r.Limits[0].Selector, nil) {
			t.Errorf("%s: %t, %q, %+v", name, ok, r.Settings.Excluded, r.Limits)
		}
	}
}

// TestAStatusThatNoConditionHasFitsIntoTheRecord: it is left out there, as it is never met.
func TestAStatusThatNoConditionHasFitsIntoTheRecord(t *testing.T) {
	p := api.FencePolicy{}
	p.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "Ready", Status: "false"}}
	r, ok := policy.ResolvePolicy([]api.FencePolicy{p}, "n1", nil)
	if got := r.Settings.UnhealthyConditions; !ok || got == nil || len(got) > 0 {
		t.Errorf("%t, %#v", ok, got)
	}
	p.Spec.UnhealthyConditions[0].Status = "False"
	if r, _ := policy.ResolvePolicy([]api.FencePolicy{p}, "n1", nil); len(r.Settings.UnhealthyConditions) != 1 {
		t.Errorf("%+v", r.Settings.UnhealthyConditions)
	}
}

// TestAMachinesWordsAreCutBetweenLetters: the API server would store another text than half a
// letter, and the status would be written again at each look.
func TestAMachinesWordsAreCutBetweenLetters(t *testing.T) {
	m := fencetest.Machine("x", "n1", fencetest.Start, fencetest.FailedMachine)
	m.Status.ErrorMessage = strings.Repeat("ä", 300)
	if _, words := m.Trouble(); len(words) > 256 || !utf8.ValidString(words) {
		t.Errorf("%d bytes: %q", len(words), words)
	}
}

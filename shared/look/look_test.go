package look_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

const machinePath = "/apis/machine.openshift.io/v1beta1/namespaces/m/machines/x"

// TestOnlyWhatIsNeededIsAskedFor: what a look asks the API server for, where all of it was
// asked for a moment ago, or nothing was; in order, but for what is asked for at once.
func TestOnlyWhatIsNeededIsAskedFor(t *testing.T) {
	at := metav1.NewMicroTime(noon)
	on := &api.Read{State: api.PoweredOn, At: at}
	begun := func(st *api.NodeFenceStatus) { st.Power.SwitchedByUs, st.Power.OffAt = true, &at }
	reports := []string{"node", "lease", "ledger", "policies", "machine"}
	counted := []string{"fencebudgets", "nodefences", "nodes"} // at once, and the policies are known
	for name, c := range map[string]struct {
		phase  api.Phase
		change func(*api.NodeFenceStatus)
		ready  bool
		pods   string
		// first is asked for where nothing is known; again a moment later.
		first, again []string
	}{
		"the gate":                            {phase: api.Pending, first: reports, again: []string{"machine"}},
		"the gate, of a node that is missing": {phase: api.Pending, change: func(st *api.NodeFenceStatus) { st.Decision.Trigger.Type = api.TriggerNodeMissing }, first: reports, again: []string{"machine"}},
		"the marks":                           {phase: api.Isolating, first: []string{"node", "ledger", "policies"}},
		"access that may be cut": {phase: api.Isolating, change: func(st *api.NodeFenceStatus) {
			st.Isolation = make([]api.IsolationRecord, 1)
			st.Isolation[0].LastRead = on
		}, first: slices.Concat([]string{"node", "ledger", "policies"}, counted), again: slices.Concat([]string{"node", "ledger", "policies"}, counted)},
		"before the first read":         {phase: api.Fencing, first: reports, again: []string{"machine"}},
		"an Off that may be sent":       {phase: api.Fencing, change: func(st *api.NodeFenceStatus) { st.Power.LastRead = on }, first: slices.Concat(reports, counted), again: slices.Concat(reports, counted)},
		"an Off that is waited for":     {phase: api.Fencing, change: begun, first: []string{"node", "lease"}},
		"a release":                     {phase: api.Releasing, change: begun, first: []string{"pods", "volumeattachments", "node", "lease"}, again: []string{"pods", "volumeattachments"}},
		"pods that may be deleted (S6)": {phase: api.Releasing, pods: `{"metadata":{"namespace":"n","name":"p"},"spec":{"nodeName":"a"}}`, change: begun, first: []string{"pods", "volumeattachments", "node", "lease"}, again: []string{"pods", "volumeattachments", "node", "lease"}},
		"power that is to be back":      {phase: api.PoweringOn, change: begun, first: []string{"node", "lease"}},
		"access that is to be back":     {phase: api.Restoring, first: []string{"node", "lease"}},
		"a node that boots":             {phase: api.Recovering, first: []string{"node"}},
		"a node that is Ready":          {phase: api.Recovering, ready: true, first: []string{"node", "lease"}},
	} {
		t.Run(name, func(t *testing.T) {
			ready := "Unknown"
			if c.ready {
				ready = "True"
			}
			s := &served{objects: map[string]string{
				nodePath:  `{"metadata":{"name":"a","uid":"u","annotations":{"machine.openshift.io/machine":"m/x"}},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}`,
				leasePath: `{}`, ledgerPath: `{}`, machinePath: `{}`, policiesPath: `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}]}`,
				"/api/v1/nodes": `{"items":[]}`, "/apis/nodefence.io/v1alpha1/nodefences": `{"items":[]}`, "/apis/nodefence.io/v1alpha1/fencebudgets": `{"items":[]}`,
				"/api/v1/pods": `{"items":[` + c.pods + `]}`, "/apis/storage.k8s.io/v1/volumeattachments": `{"items":[]}`,
			}}
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1, Phase: c.phase}}
			f.Status.Decision.ResolvedPolicy = api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot, Release: api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete}}, Limits: []api.ScopedLimits{{Policy: "p"}}}
			if c.change != nil {
				c.change(&f.Status)
			}
			l := look.Looker{Client: s.client(t)}
			for i, want := range [][]string{c.first, c.again, c.first} {
				notBefore := time.Duration(0)
				if i == 2 { // what was read before counts no more
					notBefore = l.Client.Clock().Elapsed()
				}
				s.asked = nil
				if err := l.At(t.Context(), f, &observed.Look{}, notBefore); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, path := range s.asked {
					got = append(got, kindOf(path))
				}
				if pods, node := slices.Index(got, "pods"), slices.Index(got, "node"); node >= 0 && pods > node {
					t.Errorf("look %d: the node is read before its pods: %v", i+1, got) // S6
				}
				slices.Sort(got) // what needs no other's answer is read at once
				if d := cmp.Diff(slices.Sorted(slices.Values(want)), got); d != "" {
					t.Errorf("look %d: %s", i+1, d)
				}
			}
		})
	}
}

// kindOf is the kind of the object at a path, or of those in a list.
func kindOf(path string) string {
	for p, kind := range map[string]string{nodePath: "node", leasePath: "lease", ledgerPath: "ledger", policiesPath: "policies", machinePath: "machine"} {
		if path == p {
			return kind
		}
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// Package holdtest tries the askers of package hold with each row of the table alone and with each pair of rows.
//
// What a reader must not get wrong: a case has policies and a Node object, and each asker reads both as it does in
// production. A test names the rows that its asker knows by the columns of the table, so that a new row is tried with
// every asker.
package holdtest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/policy"
)

// Case is a healthy node that Rows hold, in the order of the table, and no other row.
type Case struct {
	Rows     []hold.Row
	Policies []api.FencePolicy
	Node     *corev1.Node
	// Self: the asking program runs on the node.
	Self bool
	// Record is the NodeFence of the node; nil if no row reads it.
	Record *api.NodeFence
}

// makes changes a case so that a row holds its node.
var makes = map[api.Reason]func(*Case){
	api.PolicyNotUnderstood: func(c *Case) {
		p := &c.Policies[0]
		p.NotUnderstood.Unknown = []string{"spec.x"}
		p.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse, Reason: string(api.PolicyNotUnderstood), Message: policy.PolicyWords(p)}}
	},
	api.PolicyConflict: func(c *Case) {
		q := c.Policies[0].DeepCopy()
		q.Name, q.NotUnderstood, q.Status = "q", api.NotUnderstood{}, api.FencePolicyStatus{}
		c.Policies = append(c.Policies, *q)
	},
	api.ControlPlaneNode: func(c *Case) { c.Node.Labels[api.ControlPlaneLabel] = "" },
	api.Excluded: func(c *Case) {
		c.Node.Spec.Taints = append(c.Node.Spec.Taints, corev1.Taint{Key: "medik8s.io/drain", Effect: corev1.TaintEffectNoSchedule})
	},
	api.NodeBeingDeleted: func(c *Case) {
		c.Node.Spec.Taints = append(c.Node.Spec.Taints, corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
	},
	api.RebootUnderWay: func(c *Case) {
		c.Node.Annotations = map[string]string{"machineconfiguration.openshift.io/state": "Working"}
	},
	api.CutRefuted: func(c *Case) {
		c.Record = &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: c.Node.Name, UID: "fence-1"}, Spec: api.NodeFenceSpec{NodeName: c.Node.Name}}
		c.Record.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Finished, Refuted: &api.Refutation{FenceNumber: 1, Device: "ipmi 10.0.0.1", Level: 1, BootID: "boot-1"}}
	},
	api.OwnMachine:         func(c *Case) { c.Self = true },
	api.DryRun:             func(c *Case) { c.mode(api.ModeDryRun) },
	api.WaitingForApproval: func(c *Case) { c.mode(api.ModeRequireApproval) },
}

func (c *Case) mode(m api.Mode) {
	for i := range c.Policies {
		c.Policies[i].Spec.Mode = m
	}
}

// Of returns the case of the given rows.
func Of(t *testing.T, rows ...hold.Row) Case {
	t.Helper()
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}}
	p.Spec.Selector, p.Spec.Action, p.Spec.Mode, p.Spec.ControlPlane.Fence = policy.EveryNode, api.ActionReboot, api.ModeEnforce, new(api.Never)
	p.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "uid-1", Labels: map[string]string{}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	c := Case{Rows: rows, Policies: []api.FencePolicy{p}, Node: n}
	for _, r := range rows {
		if makes[r.Reason] == nil {
			t.Fatalf("holdtest does not know what makes %s hold", r.Reason)
		}
		makes[r.Reason](&c)
	}
	return c
}

// Cases returns the case without a row, a case for each row, and a case for each pair of rows. A policy has one mode,
// so two rows of ByMode make no pair.
func Cases(t *testing.T) []Case {
	t.Helper()
	all := []Case{Of(t)}
	rows := hold.Rows()
	for i, a := range rows {
		all = append(all, Of(t, a))
		for _, b := range rows[i+1:] {
			if a.Group != hold.ByMode || b.Group != hold.ByMode {
				all = append(all, Of(t, a, b))
			}
		}
	}
	return all
}

// Name lists the reasons of the rows.
func (c Case) Name() string {
	var all []string
	for _, r := range c.Rows {
		all = append(all, string(r.Reason))
	}
	return "held by [" + strings.Join(all, ", ") + "]"
}

// Resolved returns the result of the policies for the node.
func (c Case) Resolved() api.ResolvedPolicy {
	r, _ := policy.ResolvePolicy(c.Policies, c.Node.Name, c.Node.Labels)
	return r
}

// Input returns the question to the table, with the node as the asker reads the Node object.
func (c Case) Input(n observed.Node) hold.Input {
	in := hold.Input{Policy: c.Resolved(), Node: n, Self: c.Self, Refuted: c.Record.Refuted()}
	if p := policy.NotUnderstood(c.Policies, c.Node.Labels, nil); p != nil {
		in.NotUnderstood = policy.PolicyWords(p)
	}
	return in
}

// Has tells whether such a row holds the node, masked or not.
func (c Case) Has(is func(hold.Row) bool) bool { return slices.ContainsFunc(c.Rows, is) }

// First returns the reason of the first row that the asker knows; empty if the asker knows no row of the case.
func (c Case) First(knows func(hold.Row) bool) api.Reason {
	if i := slices.IndexFunc(c.Rows, knows); i >= 0 {
		return c.Rows[i].Reason
	}
	return ""
}

// Try tries an asker with each case: the answer is the first row that the asker knows.
func Try(t *testing.T, knows func(hold.Row) bool, asks func(Case) api.Reason) {
	t.Helper()
	for _, c := range Cases(t) {
		if got, want := asks(c), c.First(knows); got != want {
			t.Errorf("%s: %q answers, not %q", c.Name(), got, want)
		}
	}
}

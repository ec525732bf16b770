// Package holdtest tries whoever asks package hold: with each row of the table alone, and with each pair of rows.
//
// What a reader must not get wrong: a case is policies and a Node object, and the asker reads them its own way.
// What it knows of the table is said by the columns of a row, so that a new row is tried with every asker.
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

// Case is a healthy node that these rows of the table hold, in the table's order, and no others.
type Case struct {
	Rows     []hold.Row
	Policies []api.FencePolicy
	Node     *corev1.Node
	// Self: the asking program runs on the node.
	Self bool
}

// makes has what makes each row hold.
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
	api.OwnMachine:         func(c *Case) { c.Self = true },
	api.DryRun:             func(c *Case) { c.mode(api.ModeDryRun) },
	api.WaitingForApproval: func(c *Case) { c.mode(api.ModeRequireApproval) },
}

func (c *Case) mode(m api.Mode) {
	for i := range c.Policies {
		c.Policies[i].Spec.Mode = m
	}
}

// Of is the case of these rows. Its node and its policy change nothing else: name them as the test needs.
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

// Cases are no row, each row alone, and each pair of rows. A policy has one mode, so two rows of ByMode are no pair.
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

// Name has the reasons.
func (c Case) Name() string {
	var all []string
	for _, r := range c.Rows {
		all = append(all, string(r.Reason))
	}
	return "held by [" + strings.Join(all, ", ") + "]"
}

// Resolved is what the policies make of the node.
func (c Case) Resolved() api.ResolvedPolicy {
	r, _ := policy.ResolvePolicy(c.Policies, c.Node.Name, c.Node.Labels)
	return r
}

// Input is what the table is asked about. The node is as the asker reads it.
func (c Case) Input(n observed.Node) hold.Input {
	in := hold.Input{Policy: c.Resolved(), Node: n, Self: c.Self}
	if p := policy.NotUnderstood(c.Policies, c.Node.Labels, nil); p != nil {
		in.NotUnderstood = policy.PolicyWords(p)
	}
	return in
}

// Has tells whether a row of this kind holds, masked or not.
func (c Case) Has(is func(hold.Row) bool) bool { return slices.ContainsFunc(c.Rows, is) }

// First is the reason of the first row that the asker knows; empty if it knows none of them.
func (c Case) First(knows func(hold.Row) bool) api.Reason {
	if i := slices.IndexFunc(c.Rows, knows); i >= 0 {
		return c.Rows[i].Reason
	}
	return ""
}

// Try tries an asker with each case: the first row that it knows answers, and no other.
func Try(t *testing.T, knows func(hold.Row) bool, asks func(Case) api.Reason) {
	t.Helper()
	for _, c := range Cases(t) {
		if got, want := asks(c), c.First(knows); got != want {
			t.Errorf("%s: %q answers, not %q", c.Name(), got, want)
		}
	}
}

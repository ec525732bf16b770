package view

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhoIsLeftAlone: a node that its policy never has fenced is no node that something holds, as long as nothing
// is wrong with it. It need not be on the list of its policy's status, which has room for 64 nodes, and is old.
func TestWhoIsLeftAlone(t *testing.T) {
	always := new(api.WithQuorum)
	label := func(key, value string) func(*corev1.Node, *api.FencePolicy) {
		return func(n *corev1.Node, _ *api.FencePolicy) { n.Labels[key] = value }
	}
	cp := label(api.ControlPlaneLabel, "")
	excludes := func(x api.ExcludedNodes) func(*corev1.Node, *api.FencePolicy) {
		return func(_ *corev1.Node, p *api.FencePolicy) { p.Spec.Exclude = &x }
	}
	for name, tc := range map[string]struct {
		ready  corev1.ConditionStatus
		listed api.Reason
		change func(*corev1.Node, *api.FencePolicy)
		want   string
	}{
		"of the control plane":                {corev1.ConditionTrue, api.ControlPlaneNode, cp, "LeftAlone ControlPlaneNode controlPlane.fence is Never"},
		"of the control plane, not listed":    {corev1.ConditionTrue, "", cp, "LeftAlone ControlPlaneNode controlPlane.fence is Never"},
		"of the control plane, silent":        {corev1.ConditionUnknown, "", cp, "Held ControlPlaneNode controlPlane.fence is Never"},
		"of the control plane, with a quorum": {corev1.ConditionTrue, api.ControlPlaneNode, func(n *corev1.Node, p *api.FencePolicy) { cp(n, p); p.Spec.ControlPlane.Fence = always }, "Watched  "},
		"excluded by a label":                 {corev1.ConditionTrue, "", label("remediation.medik8s.io/exclude-from-remediation", "true"), "LeftAlone Excluded the node has the label remediation.medik8s.io/exclude-from-remediation=true"},
		"excluded by its policy":              {corev1.ConditionTrue, "", excludes(api.ExcludedNodes{NodeNames: []string{"a1"}}), "LeftAlone Excluded policy workers excludes this node by spec.exclude.nodeNames"},
		"excluded by its policy, silent":      {corev1.ConditionFalse, "", excludes(api.ExcludedNodes{NodeNames: []string{"a1"}}), "Held Excluded policy workers excludes this node by spec.exclude.nodeNames"},
		"excluded, and something is wrong": {corev1.ConditionTrue, "", func(n *corev1.Node, p *api.FencePolicy) {
			p.Spec.Exclude = &api.ExcludedNodes{NodeNames: []string{"a1"}}
			p.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "KernelDeadlock", Status: "True"}}
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "KernelDeadlock", Status: corev1.ConditionTrue})
		}, "Held Excluded policy workers excludes this node by spec.exclude.nodeNames"},
		"excluded no more":    {corev1.ConditionTrue, api.Excluded, func(*corev1.Node, *api.FencePolicy) {}, "Watched  "},
		"held, whoever it is": {corev1.ConditionTrue, api.PolicyConflict, cp, "Held PolicyConflict listed"},
	} {
		s := seen()
		s.Policies[0].Status.Held = nil
		if tc.listed != "" {
			s.Policies[0].Status.Held = []api.HeldNode{{NodeName: "a1", Reason: tc.listed, Message: "listed"}}
		}
		s.Nodes[0].Status.Conditions[0].Status = tc.ready
		tc.change(&s.Nodes[0], &s.Policies[0])
		r := s.Rows()[0]
		if got := strings.Join([]string{r.State, string(r.Reason), r.Message}, " "); r.Node != "a1" || got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		a, err := s.Why("a1")
		if err != nil || a.Reason != r.Reason {
			t.Errorf("%s: %v: why says %s, and status %s", name, err, a.Reason, r.Reason)
		}
	}
}

// TestAPolicyThatCannotBeRead leaves no node alone: nobody knows whom it excludes.
func TestAPolicyThatCannotBeRead(t *testing.T) {
	s := seen()
	s.Policies[0].Spec.Exclude = &api.ExcludedNodes{Selector: &api.LabelSelector{MatchExpressions: []api.LabelRequirement{{Key: "k", Operator: "Near"}}}}
	if r := s.Rows()[0]; r.Node != "a1" || r.State != Held || r.Reason != api.Excluded {
		t.Errorf("%+v", r)
	}
}

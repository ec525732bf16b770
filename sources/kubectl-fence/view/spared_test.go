package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"of the control plane":                {corev1.ConditionTrue, api.ControlPlaneNode, cp, "LeftAlone ControlPlaneNode policy workers (generation 2) never fences control-plane nodes (controlPlane.fence: Never); the node counts as one by label node-role.kubernetes.io/control-plane"},
		"of the control plane, not listed":    {corev1.ConditionTrue, "", cp, "LeftAlone ControlPlaneNode policy workers (generation 2) never fences control-plane nodes (controlPlane.fence: Never); the node counts as one by label node-role.kubernetes.io/control-plane"},
		"of the control plane, silent":        {corev1.ConditionUnknown, "", cp, "Held ControlPlaneNode policy workers (generation 2) never fences control-plane nodes (controlPlane.fence: Never); the node counts as one by label node-role.kubernetes.io/control-plane"},
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

// many are 200 nodes, of which the status of the policy that selects them names 64. Nothing else is wrong.
func many(reason api.Reason) Seen {
	s := Seen{Now: start, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{policyOf("workers", "a")}}
	s.Ledger.Status.Leases = seen().Ledger.Status.Leases
	st := &s.Policies[0].Status
	st.HeldCount = 200
	for i := range 200 {
		n := node(fmt.Sprintf("a%03d", i), corev1.ConditionTrue)
		s.Nodes = append(s.Nodes, n)
		if i < 64 {
			st.Held = append(st.Held, api.HeldNode{NodeName: n.Name, Reason: reason, Message: "listed"})
		}
	}
	return s
}

// states counts the rows by state and reason.
func states(s *Seen) map[string]int {
	out := map[string]int{}
	for _, r := range s.Rows() {
		out[r.State+" "+string(r.Reason)]++
	}
	return out
}

// TestMoreAreHeldThanAreNamed: what follows from the policies of now, and what nodefence says of a whole policy,
// holds the nodes too that its status has no room for. Of all others a note says that there are more.
func TestMoreAreHeldThanAreNamed(t *testing.T) {
	tie := many(api.PolicyConflict)
	other := policyOf("other", "a")
	other.Status.HeldCount, other.Status.Held = 200, tie.Policies[0].Status.Held
	tie.Policies = append(tie.Policies, other)
	strange := many(api.PolicyNotUnderstood)
	strange.Policies = append(strange.Policies, policyOf("limits", "a"))
	strange.Policies[1].Spec.Precedence = new(int32(200))
	strange.Policies[1].Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse, Reason: string(api.PolicyNotUnderstood), Message: "FencePolicy limits has spec.x"}}
	unnamed := many(api.NodeBeingDeleted)
	unnamed.Policies[0].Status.MissingCount = 1
	open := many(api.WaitingForApproval)
	for i := range open.Nodes {
		f := fenceOf(open.Nodes[i].Name, api.Pending, api.WaitingForApproval, "m")
		open.Fences = append(open.Fences, f)
	}
	for name, tc := range map[string]struct {
		s     Seen
		rows  map[string]int
		says  string
		notes []string
	}{
		"a tie":          {tie, map[string]int{"Held PolicyConflict": 200}, "is not being fenced (PolicyConflict: policies other and workers have the same precedence", nil},
		"not understood": {strange, map[string]int{"Held PolicyNotUnderstood": 200}, "is not being fenced (PolicyNotUnderstood: FencePolicy limits has spec.x)", nil},
		"open fences":    {open, map[string]int{"Pending WaitingForApproval": 200}, "stands in phase Pending", nil},
		"others": {unnamed, map[string]int{"Held NodeBeingDeleted": 64, "Watched ": 136}, "Nothing is wrong with node a199", []string{
			"Policy workers holds 200 nodes: 136 more are not named, and stand here as if they were not held.",
			"Policy workers has 1 missing nodes: 1 more is not named, and does not stand here.",
		}},
	} {
		if d := cmp.Diff(tc.rows, states(&tc.s)) + cmp.Diff(tc.notes, tc.s.Notes()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if a, err := tc.s.Why("a199"); err != nil || !strings.Contains(a.What, tc.says) {
			t.Errorf("%s: %v: %s, want %s", name, err, a.What, tc.says)
		}
	}
}

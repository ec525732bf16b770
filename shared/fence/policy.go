package fence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Selects tells whether a selector chooses a node with these labels. None
// chooses all. A selector that can't be read (the API server takes labels that are
// none) chooses all too, which is the stricter reading of limits and of what is excluded.
// What something is done to is asked of Chooses.
func Selects(s *api.LabelSelector, nodeLabels map[string]string) bool {
	if s == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	return err != nil || sel.Matches(labels.Set(nodeLabels))
}

// Chooses is Selects, and no selector, or one that can't be read, chooses nothing.
func Chooses(s *api.LabelSelector, with map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	return err == nil && sel.Matches(labels.Set(with))
}

// unreadable says why a selector of a policy can't be read; empty if it can.
func unreadable(policy, field string, s *api.LabelSelector) string {
	if err := misread(s); err != nil {
		return fmt.Sprintf("policy %s, %s: %s", policy, field, err)
	}
	return ""
}

// misread is what is wrong with a selector. Of several labels that are none it is always
// the same one, so that a status that says so stands still.
func misread(s *api.LabelSelector) error {
	_, err := metav1.LabelSelectorAsSelector(s.Kubernetes())
	if err == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		one := &metav1.LabelSelector{MatchLabels: map[string]string{key: s.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(one); err != nil {
			return err
		}
	}
	return err
}

// unclear says why nobody can tell which nodes a policy means, or which of them it
// leaves alone; empty if it is clear.
func unclear(p *api.FencePolicy) string {
	why := unreadable(p.Name, "spec.selector", p.Spec.Selector)
	if x := p.Spec.Exclude; x != nil && why == "" {
		why = unreadable(p.Name, "spec.exclude.selector", x.Selector)
	}
	if why != "" {
		why += "; no fence begins under it until that is corrected"
	}
	return why
}

// ResolvePolicy makes one policy out of all that select the node: the lowest
// precedence decides, a tie is a conflict, and every policy's limits hold. The
// bool is false when none selects it.
func ResolvePolicy(policies []api.FencePolicy, node string, nodeLabels map[string]string) (api.ResolvedPolicy, bool) {
	var mine []api.FencePolicy
	for _, p := range policies {
		if p.DeletionTimestamp == nil && Selects(p.Spec.Selector, nodeLabels) {
			mine = append(mine, p)
		}
	}
	if len(mine) == 0 {
		return api.ResolvedPolicy{}, false
	}
	sort.Slice(mine, func(i, j int) bool {
		a, b := mine[i], mine[j]
		if precedence(&a) != precedence(&b) {
			return precedence(&a) < precedence(&b)
		}
		return a.Name < b.Name
	})
	first := mine[0]
	r := api.ResolvedPolicy{
		Policy:   api.PolicyRef{Name: first.Name, Generation: first.Generation},
		Settings: settings(&first.Spec),
	}
	r.Settings.Excluded = clipped(cmp.Or(unclear(&first), excluded(&first, node, nodeLabels)))
	if len(mine) > 1 && precedence(&mine[1]) == precedence(&first) {
		r.Settings.Conflict = mine[1].Name
	}
	if n := len(mine); n > maxPolicies {
		r.Settings.Excluded = morePoliciesThanFit(n)
		mine = mine[:maxPolicies]
	}
	for _, p := range mine {
		r.Settings.PerNode = r.Settings.PerNode.Stricter(p.Spec.Limits.PerNode.Settings())
		r.Limits = append(r.Limits, limitsOf(&p))
	}
	return r, true
}

// maxPolicies is how many may select one node: the API's bound of a record's limits, less
// those that ConfigMaps lay over them.
const maxPolicies = 60

// morePoliciesThanFit holds a node whose limits a record can't hold: those that it left out would not count.
func morePoliciesThanFit(n int) string {
	return fmt.Sprintf("%d policies select this node, and a record has room for %d: no fence begins until fewer do", n, maxPolicies)
}

// defaultPrecedence and the times below are the schema's, or what its text says.
const (
	defaultPrecedence      = 100
	defaultApprovalTimeout = time.Hour
	defaultLeaseStill      = 12 * time.Second
	defaultMissing         = 10 * time.Minute
)

func precedence(p *api.FencePolicy) int32 {
	if p.Spec.Precedence == nil {
		return defaultPrecedence
	}
	return *p.Spec.Precedence
}

// settings are what a policy says, with every default in its place.
func settings(p *api.FencePolicySpec) api.Settings {
	s := api.Settings{
		Action:         cmp.Or(p.Action, api.ActionWaitForOff), // past the API server's validation: what does least
		Mode:           cmp.Or(p.Mode, api.ModeDryRun),
		Power:          p.Power.Settings(),
		Release:        p.Release.Settings(),
		Recovery:       p.Recovery.Settings(),
		PerNode:        p.Limits.PerNode.Settings(),
		ActivityChecks: ActivitySettings(p.ActivityChecks),
		StorageCheck:   StorageSettings(p.StorageCheck),
		Kdump:          kdumpSettings(p.Kdump),
		ControlPlane:   api.ControlPlaneSetting{Fence: api.Never, EtcdNodeNames: p.ControlPlane.EtcdNodeNames},
	}
	if p.ControlPlane.Fence != nil {
		s.ControlPlane.Fence = *p.ControlPlane.Fence
	}
	if p.Mode == api.ModeRequireApproval {
		s.ApprovalTimeout = p.ApprovalTimeout.Or(defaultApprovalTimeout)
	}
	if e := p.EarlyProbe; e != nil {
		s.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: e.LeaseStillDuration.Or(defaultLeaseStill)}
	}
	s.UnhealthyConditions = slices.Grow(s.UnhealthyConditions, len(p.UnhealthyConditions))
	for _, c := range p.UnhealthyConditions {
		if !slices.Contains(conditionStatuses, c.Status) {
			continue // past the API server's validation: no condition ever has it, and no record's schema takes it
		}
		s.UnhealthyConditions = append(s.UnhealthyConditions, api.ConditionSetting{Type: c.Type, Status: c.Status, Duration: c.Duration.Or(0)})
	}
	return s
}

// conditionStatuses are those that a node's condition can have.
var conditionStatuses = []string{string(metav1.ConditionTrue), string(metav1.ConditionFalse), string(metav1.ConditionUnknown)}

// excluded says by which field a policy excludes a node; empty if by none.
func excluded(p *api.FencePolicy, node string, nodeLabels map[string]string) string {
	switch x := p.Spec.Exclude; {
	case x == nil:
	case slices.Contains(x.NodeNames, node):
		return "policy " + p.Name + " excludes this node by spec.exclude.nodeNames"
	case x.Selector != nil && Selects(x.Selector, nodeLabels):
		return "policy " + p.Name + " excludes this node by spec.exclude.selector"
	}
	return ""
}

// TriggerOf is the first condition of the policy that holds on the node.
func TriggerOf(p api.ResolvedPolicy, n Node) (api.Trigger, bool) {
	for _, want := range p.Settings.UnhealthyConditions {
		for _, c := range n.Conditions {
			if c.Type == want.Type && c.Status == want.Status {
				return api.Trigger{
					Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: c.Type, Status: c.Status, Duration: want.Duration},
					Since: metav1.NewMicroTime(c.Since.UTC()), Reason: clipped(c.Reason),
				}, true
			}
		}
	}
	return api.Trigger{}, false
}

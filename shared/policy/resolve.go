package policy

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// ResolvePolicy combines all policies that select the node: the lowest precedence decides,
// a tie is a conflict, and every policy's limits hold. The bool is false if no policy
// selects the node.
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
		if Precedence(&a) != Precedence(&b) {
			return Precedence(&a) < Precedence(&b)
		}
		return a.Name < b.Name
	})
	first := mine[0]
	r := api.ResolvedPolicy{
		Policy:   api.PolicyRef{Name: first.Name, Generation: first.Generation},
		Settings: settings(&first.Spec),
	}
	r.Settings.ControlPlane.SelectedBy = controlPlaneBy(policies, nodeLabels)
	r.Settings.Excluded = clip.Message(cmp.Or(Unclear(&first), excluded(&first, node, nodeLabels)))
	if len(mine) > 1 && Precedence(&mine[1]) == Precedence(&first) {
		r.Settings.Conflict = mine[1].Name
	}
	if n := len(mine); n > maxPolicies {
		r.Settings.Excluded = morePoliciesThanFit(n)
		mine = mine[:maxPolicies]
	}
	for _, p := range mine {
		r.Settings.PerNode = r.Settings.PerNode.Stricter(p.Spec.Limits.PerNode.Settings())
		r.Limits = append(r.Limits, LimitsOf(&p))
	}
	return r, true
}

// controlPlaneBy is the first policy by name whose controlPlane.nodeSelector matches the node's labels;
// empty if none does. Every policy is asked, also one that does not select the node: what is of the
// control plane does not depend on who decides for it (S13).
func controlPlaneBy(policies []api.FencePolicy, nodeLabels map[string]string) (name string) {
	for i := range policies {
		p := &policies[i]
		chosen := p.DeletionTimestamp == nil && p.Spec.ControlPlane.NodeSelector != nil && Selects(p.Spec.ControlPlane.NodeSelector, nodeLabels)
		if chosen && (name == "" || p.Name < name) {
			name = p.Name
		}
	}
	return name
}

// maxPolicies is how many policies may select one node: the API's bound of a record's
// limits, less the limits that ConfigMaps may add.
const maxPolicies = 60

// morePoliciesThanFit holds a node with more limits than a record can hold: the limits that
// the record leaves out would not count.
func morePoliciesThanFit(n int) string {
	return fmt.Sprintf("%d policies select this node, and a record has room for %d: no fence begins until fewer do", n, maxPolicies)
}

// defaultPrecedence and the times below are the schema's defaults, or those in its
// descriptions.
const (
	defaultPrecedence      = 100
	defaultApprovalTimeout = time.Hour
	defaultLeaseStill      = 12 * time.Second
	DefaultMissing         = 10 * time.Minute
)

// Precedence is a policy's precedence, or the default; the lowest decides.
func Precedence(p *api.FencePolicy) int32 {
	if p.Spec.Precedence == nil {
		return defaultPrecedence
	}
	return *p.Spec.Precedence
}

// settings are a policy's settings, with every default filled in.
func settings(p *api.FencePolicySpec) api.Settings {
	s := api.Settings{
		Action:         cmp.Or(p.Action, api.ActionWaitForOff), // not validated by the API server: take the most cautious value
		Mode:           cmp.Or(p.Mode, api.ModeDryRun),
		Drain:          p.Drain.Settings(),
		Isolation:      p.Isolation.Settings(),
		Power:          p.Power.Settings(),
		Release:        p.Release.Settings(),
		Recovery:       p.Recovery.Settings(),
		PerNode:        p.Limits.PerNode.Settings(),
		ActivityChecks: ActivitySettings(p.ActivityChecks),
		StorageCheck:   StorageSettings(p.StorageCheck),
		Kdump:          KdumpSettings(p.Kdump),
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
			continue // not validated by the API server: no condition ever has this status, and no record's schema accepts it
		}
		s.UnhealthyConditions = append(s.UnhealthyConditions, api.ConditionSetting{Type: c.Type, Status: c.Status, Duration: c.Duration.Or(0)})
	}
	return s
}

// conditionStatuses are the statuses that a node's condition can have.
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

// Unclear says why it is unknown which nodes a policy is about, or which of them it
// excludes; empty if it is clear.
func Unclear(p *api.FencePolicy) string {
	why := Unreadable(p.Name, "spec.selector", p.Spec.Selector)
	if x := p.Spec.Exclude; x != nil && why == "" {
		why = Unreadable(p.Name, "spec.exclude.selector", x.Selector)
	}
	if s := p.Spec.ControlPlane.NodeSelector; s != nil && why == "" {
		why = Unreadable(p.Name, "spec.controlPlane.nodeSelector", s)
	}
	if why != "" {
		why += "; no fence begins under it until that is corrected"
	}
	return why
}

// resolveAmong resolves the policies that decide. Their limits count over the nodes that
// they select. The limits of all other policies that would select a node without labels
// hold too.
func resolveAmong(policies, mine []api.FencePolicy, selectors map[string]*api.LabelSelector, node string) (api.ResolvedPolicy, bool) {
	r, ok := ResolvePolicy(mine, node, nil)
	for i := range r.Limits {
		r.Limits[i].Selector = selectors[r.Limits[i].Policy]
	}
	if !ok {
		return r, false
	}
	n := len(mine)
	for i := range policies {
		p := &policies[i]
		if _, is := selectors[p.Name]; !is && p.DeletionTimestamp == nil && Selects(p.Spec.Selector, nil) {
			n++
		}
	}
	others, _ := ResolvePolicy(policies, node, nil)
	for _, l := range others.Limits {
		if _, is := selectors[l.Policy]; !is {
			r.Limits = append(r.Limits, l)
		}
	}
	if n > maxPolicies {
		r.Settings.Excluded, r.Limits = morePoliciesThanFit(n), r.Limits[:min(len(r.Limits), maxPolicies)]
	}
	return r, true
}

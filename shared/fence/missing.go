package fence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// A node that is expected and has no Node object is fenced by its machine alone. Its
// record's node UID is empty, so that nothing is ever released or marked in its name
// (S6), and it ends as soon as a Node of the name is there.

// Machine is what is needed of a Machine object, of whatever kind.
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		NodeRef *struct {
			Name string `json:"name"`
		} `json:"nodeRef,omitempty"`
		Phase string `json:"phase,omitempty"`
		// OpenShift's words for what is wrong, and Cluster API's.
		ErrorReason    string `json:"errorReason,omitempty"`
		ErrorMessage   string `json:"errorMessage,omitempty"`
		FailureReason  string `json:"failureReason,omitempty"`
		FailureMessage string `json:"failureMessage,omitempty"`
	} `json:"status"`
}

// missingNow are a policy's expected nodes that are not among these. What was missing
// before keeps its time.
func missingNow(p *api.FencePolicy, c Cluster, now time.Time) (all []api.MissingNode) {
	if p.Spec.MissingNodes == nil && p.Spec.Machines == nil {
		return nil
	}
	there := map[string]bool{}
	for _, n := range c.Nodes {
		there[n.Name] = there[n.Name] || n.Under == nil
	}
	since := func(node string) api.Time {
		for _, was := range p.Status.Missing {
			if was.NodeName == node {
				return was.Since
			}
		}
		return stampOf(now)
	}
	for _, node := range namedBy(p) {
		if !there[node] {
			there[node] = true
			all = append(all, api.MissingNode{NodeName: node, Since: since(node)})
		}
	}
	for i := range c.Machines {
		m := &c.Machines[i]
		if m.DeletionTimestamp != nil || !wants(p, m) {
			continue
		}
		missing := api.MissingNode{Machine: new(m.ref()), Since: stampOf(m.CreationTimestamp.Time)}
		if ref := m.Status.NodeRef; ref != nil {
			node := clip.To(longestName, ref.Name) // no Node has a longer one
			if there[node] {
				continue
			}
			there[node] = true
			missing.NodeName, missing.Since = node, since(node)
		}
		all = append(all, missing)
	}
	// Whatever is cut are Machines that have no node yet, before any node is.
	slices.SortStableFunc(all, func(a, b api.MissingNode) int {
		return cmp.Or(min(len(b.NodeName), 1)-min(len(a.NodeName), 1), strings.Compare(a.NodeName, b.NodeName), strings.Compare(machineOf(a), machineOf(b)))
	})
	return all
}

// machineOf is the Machine that a missing node is expected of, in words; empty if of none.
func machineOf(m api.MissingNode) string {
	if m.Machine == nil {
		return ""
	}
	return m.Machine.String()
}

// Overdue are those that have been missing for longer than their policy allows.
func Overdue(p *api.FencePolicy, now time.Time) (all []api.MissingNode) {
	for _, m := range p.Status.Missing {
		if wait, is := patience(p, m); is && now.Sub(m.Since.Time) >= wait {
			all = append(all, m)
		}
	}
	return all
}

// patience is how long this one may be missing; false if the policy expects it no more.
func patience(p *api.FencePolicy, m api.MissingNode) (time.Duration, bool) {
	if x := p.Spec.Machines; m.Machine != nil && x != nil {
		return x.StartupTimeout.Or(defaultMissing).Duration, true
	}
	if x := p.Spec.MissingNodes; m.Machine == nil && x != nil {
		return x.Duration.Or(defaultMissing).Duration, true
	}
	return 0, false
}

// namedBy are the nodes that a policy expects by name.
func namedBy(p *api.FencePolicy) []string {
	if p.Spec.MissingNodes == nil {
		return nil
	}
	return p.Spec.MissingNodes.NodeNames
}

// names tells whether a policy expects a node by name.
func names(p *api.FencePolicy, node string) bool { return slices.Contains(namedBy(p), node) }

// wants tells whether a policy expects the node of a Machine. Without a selector it
// expects none.
func wants(p *api.FencePolicy, m *Machine) bool {
	x := p.Spec.Machines
	return x != nil && x.Selector != nil && Chooses(x.Selector, m.Labels)
}

// everyNode stands for a policy's own selector where its nodes are known otherwise.
var everyNode = &api.LabelSelector{}

// presence is the words of condition NodesPresent.
func presence(p *api.FencePolicy, missing []api.MissingNode, now time.Time) (bool, string) {
	var late []string
	for _, m := range Overdue(&api.FencePolicy{Spec: p.Spec, Status: api.FencePolicyStatus{Missing: missing}}, now) {
		name := m.NodeName
		if name == "" {
			name = "Machine " + machineOf(m)
		}
		wait, _ := patience(p, m)
		late = append(late, name+" for "+wait.String())
	}
	if len(late) > 0 {
		return false, "without a Node: " + strings.Join(late[:min(len(late), 8)], ", ")
	}
	return true, "none is missing for too long"
}

// ResolveMissing is ResolvePolicy for a node that is missing: the policies that expect
// it decide, as it has no labels that others could select it by. Of those, too, that
// would select a node without labels the limits hold.
func ResolveMissing(policies []api.FencePolicy, node string, now time.Time) (r api.ResolvedPolicy, t api.Trigger, ok bool) {
	var mine []api.FencePolicy
	selectors := map[string]*api.LabelSelector{}
	for _, p := range policies {
		for _, m := range Overdue(&p, now) {
			if m.NodeName != node || m.Machine == nil && !names(&p, node) {
				continue
			}
			selectors[p.Name] = countedOver(p.Spec.Selector)
			p.Spec.Selector = everyNode
			mine = append(mine, p)
			if t.Type == "" || m.Since.Before(&t.Since) {
				t = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: m.Since, Reason: "no Node object"}
				t.NodeMissing.Duration.Duration, _ = patience(&p, m)
				if m.Machine != nil {
					t.Reason += " for Machine " + m.Machine.String()
				}
			}
			break
		}
	}
	r, ok = resolveAmong(policies, mine, selectors, node)
	return r, t, ok
}

// resolveAmong resolves those of the policies that decide. Their limits count over the
// nodes that they select, and those of all others that would select a node without
// labels hold too.
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

// node is one of those that are counted; without labels if it is none.
func (c Cluster) node(name string) ClusterNode {
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	return ClusterNode{Name: name}
}

// missing: the Node object for whose absence this fence was opened is not there.
func (d *decision) missing() bool { return d.dec.Trigger.Missing() && !d.seen.Node.Exists }

// noNode: that is evidence. Such a fence has no UID to be bound to.
func (d *decision) noNode() bool { return d.missing() && !d.onlyMachine() && d.dec.NodeUID == "" }

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/gate"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Report is what there is to say of one node.
type Report struct {
	Node string `json:"node"`
	// Refused says why the node would not be fenced as it is configured.
	Refused string `json:"refused,omitempty"`
	// Now is what the gate would say this minute, with its numbers.
	Now string `json:"now,omitempty"`
	// Policy is the one that decides, with the limits of all that select the node.
	Policy *api.ResolvedPolicy `json:"policy,omitempty"`
	Device *Device             `json:"device,omitempty"`
	// Levels are the further devices, tried in order if the one before can't show
	// that the machine is off.
	Levels []Device `json:"levels,omitempty"`
	// Cuts are the devices that cut off storage and network.
	Cuts []Device `json:"cuts,omitempty"`
	// Steps are the methods of the ConfigMaps.
	Isolation []config.Step `json:"isolation,omitempty"`
	Power     []config.Step `json:"powerManagement,omitempty"`
	Recovery  []config.Step `json:"recovery,omitempty"`
	// Calls are what a fence would do, in order.
	Calls []string `json:"calls,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Sources are the ConfigMaps that were read, with resourceVersion.
	Sources []string `json:"sources,omitempty"`
}

// Device is what switches the machine.
type Device struct {
	Driver  string `json:"driver"`
	Address string `json:"address"`
	// Members are the devices of a set, all of which must be off. Their values
	// have their numbers before them.
	Members []string `json:"members,omitempty"`
	// Identity that the device must answer with; empty if none was enrolled.
	Identity string `json:"identity,omitempty"`
	// Scope, Must, Covers are a cut's: what it takes, whether the fence goes on
	// without, and which storage that is.
	Scope  api.Scope     `json:"scope,omitempty"`
	Must   bool          `json:"must,omitempty"`
	Covers *api.Coverage `json:"covers,omitempty"`
	Values []Value       `json:"values"`
}

// Value is one parameter and where it stands. That of a secret is not shown.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	From  string `json:"from"`
}

// world is what was read once for all nodes.
type world struct {
	functions.Parts
	planner  *functions.Planner
	policies []api.FencePolicy
	nodes    []corev1.Node
	ledger   *api.FenceLedger
	cluster  fence.Cluster
}

func look(ctx context.Context, p functions.Parts) (*world, error) {
	w := &world{Parts: p}
	var err error
	if w.planner, err = p.Planner(ctx); err != nil {
		return nil, err
	}
	if w.policies, err = p.Client.Policies(ctx); err != nil {
		return nil, err
	}
	if w.nodes, err = p.Client.Nodes(ctx); err != nil {
		return nil, err
	}
	if w.ledger, err = p.Client.Ledger(ctx); err != nil {
		return nil, err
	}
	if w.cluster.Fences, err = p.Client.Fences(ctx); err != nil {
		return nil, err
	}
	w.cluster.Budgets, err = p.Client.Budgets(ctx)
	return w, err
}

// reports are those of one node, or of all.
func (w *world) reports(ctx context.Context, node string) ([]Report, error) {
	var out []Report
	for i := range w.nodes {
		if node != "" && w.nodes[i].Name != node {
			continue
		}
		r, err := w.report(kube.Begin(ctx, "plan"), &w.nodes[i])
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", w.nodes[i].Name, err)
		}
		out = append(out, *r)
	}
	if node != "" && len(out) == 0 {
		return nil, fmt.Errorf("node %s does not exist", node)
	}
	return out, nil
}

func (w *world) report(ctx context.Context, n *corev1.Node) (*Report, error) {
	r := &Report{Node: n.Name}
	policy, ok := fence.ResolvePolicy(w.policies, n.Name, n.Labels)
	if !ok {
		r.Refused = "no FencePolicy selects this node; apply one whose spec.selector does"
		return r, nil
	}
	// The policies of other nodes are not to change with this one's.
	r.Policy = policy.DeepCopy()
	plan, cluster, err := w.planner.Plan(ctx, n)
	var no *gate.Refused
	switch {
	case errors.As(err, &no):
		r.Refused = no.Error()
		return r, nil
	case err != nil:
		return nil, err
	}
	cluster.Over(r.Policy)
	r.configured(plan, cluster)
	devices := plan.Devices()
	for i := range devices {
		if err := w.credentials(ctx, r, &devices[i]); err != nil || r.Refused != "" {
			return r, err
		}
	}
	if err := w.judge(ctx, r, n, plan); err != nil {
		return nil, err
	}
	if r.Refused == "" {
		r.Calls = calls(r.Policy, plan.Bindings(), plan.Cuts())
	}
	return r, nil
}

// configured copies what the ConfigMaps say.
func (r *Report) configured(p config.Plan, c config.Cluster) {
	r.Isolation, r.Power, r.Recovery, r.Notes = p.Isolation, p.Power, p.Recovery, p.Notes
	r.Sources = slices.Concat(p.Binding.Sources, c.Sources)
	if p.Binding.Driver != "" {
		r.Device = deviceOf(p.Binding, p.Origins)
	}
	for _, c := range p.Cut {
		d := deviceOf(c.Binding, c.Origins)
		d.Scope, d.Must, d.Covers = c.Binding.Scope, c.Binding.Must, c.Binding.Covers
		r.Cuts = append(r.Cuts, *d)
	}
	for _, l := range p.Next {
		r.Levels = append(r.Levels, *deviceOf(l.Binding, l.Origins))
	}
	if all, tried := len(p.Next)+1, max(1, len(r.Policy.Levels)); tried < all {
		r.Notes = append(r.Notes, fmt.Sprintf("policy %s tries %d of %d levels (spec.levels)", r.Policy.Name, tried, all))
	}
}

// deviceOf says where each value of a binding stands.
func deviceOf(b api.Binding, origins map[string]string) *Device {
	d := &Device{Driver: b.Driver, Address: b.Address, Identity: b.Identity}
	params := maps.Clone(b.Params)
	for i, m := range b.Members {
		d.Members = append(d.Members, m.Driver+" "+m.Address)
		if params == nil {
			params = map[string]string{}
		}
		for name, value := range m.Params {
			params[strconv.Itoa(i+1)+"."+name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(origins)) {
		d.Values = append(d.Values, Value{Name: name, Value: params[name], From: origins[name]})
	}
	return d
}

// credentials are read as power reads them. Whoever may not is told so, and not
// that they are wrong.
func (w *world) credentials(ctx context.Context, r *Report, b *api.Binding) error {
	err := w.planner.Credentials(ctx, b)
	switch {
	case err == nil:
	case apierrors.IsForbidden(err):
		r.Notes = append(r.Notes, "the device's Secret was not looked at: "+err.Error())
	case apierrors.ReasonForError(err) != "", errors.As(err, new(*url.Error)):
		return err
	default:
		r.Refused = err.Error()
	}
	return nil
}

// holds are what no time and nobody else's healing changes.
var holds = []api.Reason{api.PolicyConflictHold, api.ControlPlaneHold, api.ExcludedHold, api.BindingInvalid, api.WindowInvalidHold}

// judge lets the automaton and the ledger's own rule say what they would say if
// the node had failed long enough ago.
func (w *world) judge(ctx context.Context, r *Report, n *corev1.Node, plan config.Plan) error {
	for _, f := range w.cluster.Fences {
		if f.Spec.Node == n.Name && f.Open() {
			r.Now = fmt.Sprintf("a fence is under way: %s, %s: %s", f.CurrentPhase(), f.Status.Reason, f.Status.Message)
			return nil
		}
	}
	now := w.Client.Clock().Now()
	f, seen := failedNode(n, *r.Policy, plan)
	if err := w.Client.LookBrakes(ctx, f, &seen); err != nil {
		return err
	}
	if err := w.Client.LookDeletion(ctx, f, &seen); err != nil {
		return err
	}
	var act fence.Action
	f.Status, _ = fence.Decide(f, seen, now.Add(-48*time.Hour)) // opens the record
	for range 3 {
		f.Status, act = fence.Decide(f, seen, now)
		if act != fence.Reserve {
			break
		}
		if seen.Verdict = w.admit(f); seen.Verdict == nil {
			r.Now = "would begin"
			return nil
		}
	}
	words := fmt.Sprintf("%s: %s", f.Status.Reason, f.Status.Message)
	if slices.Contains(holds, f.Status.Reason) {
		r.Refused = words
		return nil
	}
	r.Now = "would be held: " + words
	return nil
}

// failedNode is a fence of a node that has failed, and how it would look.
func failedNode(n *corev1.Node, p api.ResolvedPolicy, plan config.Plan) (*api.NodeFence, fence.Seen) {
	long := time.Unix(0, 0).UTC()
	seen := fence.Seen{Me: "plan", Node: kube.NodeSeen(n, "plan"), Resolved: true}
	seen.Node.Conditions = nil
	t := api.Trigger{}
	if len(p.Conditions) > 0 {
		c := p.Conditions[0]
		seen.Node.Conditions = []fence.Condition{{Type: c.Type, Status: c.Status, Since: long}}
		t, _ = fence.TriggerOf(p, seen.Node)
	}
	f := &api.NodeFence{Spec: api.NodeFenceSpec{Node: n.Name, NodeUID: n.UID, Generation: 1, Trigger: t, Policy: p, Isolation: plan.Cuts()}}
	if plan.Binding.Driver != "" {
		f.Spec.Binding = &plan.Binding
	}
	f.Name, f.UID, f.Finalizers = n.Name, "plan", []string{api.Finalizer}
	return f, seen
}

// admit asks the ledger's rule on a copy, with the node counted as failed.
func (w *world) admit(f *api.NodeFence) *fence.Verdict {
	c := w.cluster
	c.Nodes = kube.ClusterNodes(w.nodes)
	for i := range c.Nodes {
		if c.Nodes[i].Name == f.Spec.Node {
			c.Nodes[i].Unhealthy = true
		}
	}
	return fence.Admit(f, c, w.ledger.DeepCopy(), w.Client.Clock().Now())
}

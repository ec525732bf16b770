package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Report is everything that is known about one node's fencing.
type Report struct {
	Node string `json:"node"`
	// Refused says why the node would not be fenced with its present configuration.
	Refused string `json:"refused,omitempty"`
	// Unknown says why it could not be found out here how the node would be fenced.
	Unknown string `json:"unknown,omitempty"`
	// Now is what the gate would decide at this moment, with its numbers.
	Now string `json:"now,omitempty"`
	// UnderWay: the node has an open fence.
	UnderWay bool `json:"underWay,omitempty"`
	// Checked is what the FenceTarget says of the devices with their present configuration.
	Checked []Checked `json:"checked,omitempty"`
	// Problems are the rules about problems that are reported of the node.
	Problems []Problem `json:"problems,omitempty"`
	// Policy is the policy that decides, with the limits of all policies that select the
	// node.
	Policy *api.ResolvedPolicy `json:"policy,omitempty"`
	Device *Device             `json:"device,omitempty"`
	// Levels are the further devices, tried in order if the one before can't show that the
	// machine is off.
	Levels []Device `json:"levels,omitempty"`
	// Cuts are the devices that cut off storage and network.
	Cuts []Device `json:"cuts,omitempty"`
	// Steps are the methods in the ConfigMaps.
	Isolation []config.Step `json:"isolation,omitempty"`
	Power     []config.Step `json:"powerManagement,omitempty"`
	Recovery  []config.Step `json:"recovery,omitempty"`
	// StaysOff says why the machine would not be switched on again; empty if it would.
	StaysOff string `json:"staysOff,omitempty"`
	// Calls are what a fence would do, in order.
	Calls []string `json:"calls,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Sources are the ConfigMaps that were read, in the versions that were read.
	Sources []api.ConfigSource `json:"sources,omitempty"`
	// Ready: the node is Ready, and planned for as if it had failed.
	Ready bool `json:"-"`
}

// Device is what switches the machine.
type Device struct {
	Driver  string `json:"driver"`
	Address string `json:"address"`
	// Members are the devices of a set, all of which must be off. Their parameters have
	// their numbers as a prefix.
	Members []string `json:"members,omitempty"`
	// Identity is what the device must answer with; empty if none was enrolled.
	Identity string `json:"identity,omitempty"`
	// Scope, Must and Covers are for a device that cuts off: what it cuts off, whether the
	// fence needs it, and which storage it covers.
	Role   api.Role      `json:"role,omitempty"`
	Must   bool          `json:"must,omitempty"`
	Covers *api.Coverage `json:"covers,omitempty"`
	Values []Value       `json:"values"`
}

// Value is one parameter and the place where it is set. The value of a secret is not shown.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	From  string `json:"from"`
}

// world is what was read once for all nodes.
type world struct {
	functions.Parts
	planner *binding.Planner
	ledger  *api.FenceLedger
	lists   look.Lists
	// source is the Lease of the source that leads, and sourceRead tells whether it was read.
	source     *coordinationv1.Lease
	sourceRead bool
	// planePods are the pods of the control plane; planePodsUnread says why they could not be read.
	planePods       []corev1.Pod
	planePodsUnread string
	// problems are the NodeProblemPolicies; unread says why they could not be read.
	problems []api.NodeProblemPolicy
	unread   string
}

func readWorld(ctx context.Context, p functions.Parts) (*world, error) {
	w := &world{Parts: p}
	var err error
	if w.planner, err = p.Planner(ctx); err != nil {
		return nil, err
	}
	if w.ledger, err = p.Client.Ledger(ctx); err != nil {
		return nil, err
	}
	if w.lists, err = look.ReadLists(ctx, p.Client.NewReader(p.Client.Clock().Elapsed())); err != nil {
		return nil, err
	}
	w.readSource(ctx)
	if err = w.readPlanePods(ctx); err != nil {
		return nil, err
	}
	return w, w.readProblems(ctx)
}

// readSource reads the Lease of the source that leads, if the ledger does not show that a source looks. A user without
// the right to read it learns the rest.
func (w *world) readSource(ctx context.Context) {
	if !w.seen().Blind() {
		return
	}
	l, err := w.Client.LeaseIn(ctx, w.Settings.Namespace, view.SourceLease)
	if err != nil {
		w.sourceRead = apierrors.IsNotFound(err)
		return
	}
	w.source, w.sourceRead = l, true
}

// readPlanePods reads the static pods of the control plane. The gate has the right to read them: a user
// without it gets a note.
func (w *world) readPlanePods(ctx context.Context) (err error) {
	w.planePods, err = w.Client.ControlPlanePods(ctx, "")
	if apierrors.IsForbidden(err) {
		w.planePodsUnread = "the static pods of the control plane were not looked at: " + err.Error()
		return nil
	}
	return err
}

// reports returns the reports of one node, or of all.
func (w *world) reports(ctx context.Context, node string) ([]Report, error) {
	var out []Report
	for i := range w.lists.Nodes {
		if node != "" && w.lists.Nodes[i].Name != node {
			continue
		}
		r, err := w.report(kube.WithFunction(ctx, "plan"), &w.lists.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", w.lists.Nodes[i].Name, err)
		}
		out = append(out, *r)
	}
	if node != "" && len(out) == 0 {
		return nil, w.noNode(node)
	}
	return out, nil
}

func (w *world) report(ctx context.Context, n *corev1.Node) (*Report, error) {
	r := &Report{Node: n.Name, Ready: look.NodeFrom(n, "").Ready()}
	if w.unread != "" {
		r.Notes = append(r.Notes, w.unread)
	}
	resolved, ok := policy.ResolvePolicy(w.lists.Policies, n.Name, n.Labels)
	r.reported(w.problems, n, resolved.Policy.Name)
	if !ok {
		r.Refused = "no FencePolicy selects this node; apply one whose spec.selector does"
		if len(w.lists.Policies) == 0 {
			r.Refused = "there is no FencePolicy in this cluster; apply one whose spec.selector selects this node"
		}
		return r, nil
	}
	// A copy, because the policies of other nodes must not change with those of this node.
	r.Policy = resolved.DeepCopy()
	t, err := w.target(ctx, r, n)
	if err != nil {
		return nil, err
	}
	plan, cluster, err := w.planner.Plan(ctx, n)
	var no *config.Refused
	switch {
	case errors.As(err, &no):
		return r, w.withoutDevices(ctx, r, n, t, no)
	case err != nil:
		return nil, err
	}
	cluster.Over(r.Policy)
	r.configured(plan, cluster)
	w.doubt(r, t)
	return r, w.wouldDo(ctx, r, n, api.Decision{ResolvedPolicy: *r.Policy, Devices: plan.Devices()}, t)
}

// withoutDevices refuses a fence for which no device is bound. An action that switches no device begins all the same:
// the gate opens such a fence, and a person says that the machine is off.
func (w *world) withoutDevices(ctx context.Context, r *Report, n *corev1.Node, t *api.FenceTarget, no *config.Refused) error {
	if w.refuse(r, t, no); r.Refused == "" || r.Policy.Settings.Action.Device() {
		return nil
	}
	dec := api.Decision{ResolvedPolicy: *r.Policy}
	if r.Policy.Settings.Action.Reads() {
		dec.DevicesError = no.Error()
	}
	r.Refused = ""
	return w.wouldDo(ctx, r, n, dec, t)
}

// wouldDo says what a fence by this decision would do, and looks for what may hold it.
func (w *world) wouldDo(ctx context.Context, r *Report, n *corev1.Node, dec api.Decision, t *api.FenceTarget) error {
	devices := dec.Devices
	for i := range devices {
		if err := w.credentials(ctx, r, &devices[i]); err != nil || r.Refused != "" {
			return err
		}
	}
	r.checked(t, devices)
	if err := w.judge(ctx, r, n, dec); err != nil {
		return err
	}
	if r.Refused == "" {
		r.StaysOff = act.StaysOff(&dec, w.record(n.Name), w.Client.Clock().Now())
		r.Calls = calls(&dec, r.StaysOff)
	}
	return nil
}

// configured copies what the ConfigMaps say.
func (r *Report) configured(p config.Plan, c config.Cluster) {
	r.Isolation, r.Power, r.Recovery, r.Notes = p.Isolation, p.Power, p.Recovery, append(r.Notes, p.Notes...)
	r.Sources = slices.Concat(p.Binding.Sources, c.Sources)
	if p.Binding.Driver != "" {
		r.Device = deviceOf(p.Binding, p.Origins)
	}
	for _, c := range p.Cut {
		d := deviceOf(c.Binding, c.Origins)
		d.Role, d.Must, d.Covers = c.Binding.Role, c.Binding.Must, c.Binding.Covers
		r.Cuts = append(r.Cuts, *d)
	}
	for _, l := range p.Next {
		r.Levels = append(r.Levels, *deviceOf(l.Binding, l.Origins))
	}
	if all, tried := len(p.Next)+1, max(1, int(r.Policy.Settings.Power.MaxLevels)); tried < all {
		r.Notes = append(r.Notes, fmt.Sprintf("policy %s tries %d of %d levels (power.maxLevels)", r.Policy.Policy.Name, tried, all))
	}
}

// deviceOf says where each value of a binding is set.
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

// credentials are read as power reads them. If the user may not read them, the report says
// so, and does not call them wrong.
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

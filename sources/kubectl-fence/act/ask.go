package act

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
)

// Ask is the FenceRequest for a node, and what it will do. The node's policy is r, nil if none
// selects it; n is its Node object, its FenceTarget is t, and its record f, nil if it has none.
func Ask(node, namespace string, p Person, r *api.ResolvedPolicy, n observed.Node, t *api.FenceTarget, f *api.NodeFence) (*api.FenceRequest, []string, error) {
	switch {
	case p.Reason == "":
		return nil, nil, fmt.Errorf("say why, for those who read it later: --reason")
	case r == nil:
		return nil, nil, fmt.Errorf("node %s would not be fenced: no FencePolicy selects it", node)
	}
	for _, h := range hold.All(hold.Input{Policy: *r, Node: n, Refuted: f.Refuted()}, hold.ByPolicy, hold.ByNode) {
		if h.Permanent {
			return nil, nil, fmt.Errorf("node %s would not be fenced: %s", node, h.Message)
		}
	}
	q := &api.FenceRequest{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceRequest"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: node + "-", Namespace: namespace},
		Spec:       api.FenceRequestSpec{NodeName: node, Reason: p.Reason, RequestedBy: p.Name},
	}
	says := []string{fmt.Sprintf("Node %s is fenced, whether it is healthy or not, as policy %s says, once all limits allow it:", node, r.Policy.Name)}
	switch r.Settings.Mode {
	case api.ModeDryRun:
		says[0] = fmt.Sprintf("Policy %s is in mode DryRun: the record of node %s will say what would be done, and nothing is touched:", r.Policy.Name, node)
	case api.ModeRequireApproval:
		says[0] = fmt.Sprintf("Node %s is fenced as policy %s says, once somebody has approved it (kubectl fence approve %[1]s):", node, r.Policy.Name)
	}
	if f != nil && f.Open() {
		says = append([]string{fmt.Sprintf("Fence %d of node %s is open (phase %s): this request joins it, and opens no other.", f.Status.FenceNumber, node, f.CurrentPhase())}, says...)
	}
	d, bound := decided(node, r, t)
	says = append(says, follows(&d, f, p.At.Time, bound)...)
	if !bound && r.Settings.Action.Device() {
		says = append(says, "Not all is known here of its devices: kubectl fence plan "+node+" says what each does, and what of that can't be undone.")
	}
	if why := unusable(t); why != "" {
		says = append(says, "WHEN NODEFENCE READ ITS DEVICES LAST, THEY COULD NOT FENCE IT ("+why+"): the fence may fail. Mend that first, or see kubectl fence devices.")
	}
	return q, says, nil
}

// unusable is why the node's devices could not fence it when they were read last; empty if they could, or if that is
// not known.
func unusable(t *api.FenceTarget) string {
	if t == nil {
		return ""
	}
	c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// decided is what a fence of that node would be decided by now. Its devices are those that nodefence
// has bound last. Where it keeps none (those of other projects' objects, for example), they are those
// that it has read, of which no more is known than their names; bound is false then.
func decided(node string, r *api.ResolvedPolicy, t *api.FenceTarget) (d api.Decision, bound bool) {
	d = api.Decision{ResolvedPolicy: *r, DevicesError: "the device that kubectl fence plan " + node + " names"}
	switch {
	case t == nil:
	case t.Status.Binding != nil:
		d.Devices = t.Status.Binding.Devices
	default:
		for _, x := range t.Status.Devices {
			d.Devices = append(d.Devices, api.Binding{Driver: x.Driver, Address: x.Address, Role: x.Role})
		}
	}
	return d, t != nil && t.Status.Binding != nil && len(d.Devices) > 0
}

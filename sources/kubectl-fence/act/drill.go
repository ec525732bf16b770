package act

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
)

// DrillReason is the reason of the FenceRequest of a drill.
const DrillReason = "fire drill"

// Drilled is what a drill is decided on.
type Drilled struct {
	Node   *corev1.Node
	Fence  *api.NodeFence      // its record, nil if it has none
	Target *api.FenceTarget    // nil if it has none
	Policy *api.ResolvedPolicy // nil if no policy selects it
	Ledger *api.FenceLedger
}

// Drill is the FenceRequest for a fire drill of one healthy node. It is refused where the fence would
// not run from end to end. Whether something in the cluster holds it, and whether its devices would
// switch the machine on again, is plan's to say.
func Drill(d Drilled, namespace string, p Person) (*api.FenceRequest, []string, error) {
	why := d.unfit()
	if why == "" {
		why = d.unchecked(p.At.Time)
	}
	if why != "" {
		return nil, nil, fmt.Errorf("no drill of node %s: %s", d.Node.Name, why)
	}
	p.Reason = DrillReason
	q, says, err := Ask(d.Node.Name, namespace, p, d.Policy, look.NodeFrom(d.Node, ""), d.Target, d.Fence)
	if err != nil {
		return nil, nil, err
	}
	says = append([]string{
		fmt.Sprintf("A fire drill: healthy node %s is fenced for real. Its pods start elsewhere, or wait for it: they are asked to leave first, as drain in its policy says, and what is left is killed.", d.Node.Name),
	}, says...)
	if d.Policy.Settings.Recovery.Uncordon == api.UncordonManual {
		says = append(says, fmt.Sprintf("The drill is over only when somebody has given the node back (kubectl fence lift %s).", d.Node.Name))
	}
	return q, append(says, "Before power is cut, Ctrl-C withdraws the request. After that the fence runs to its end by itself."), nil
}

// unfit says why there can be no drill; empty if there can.
func (d Drilled) unfit() string {
	switch {
	case d.Fence != nil && d.Fence.Open():
		return fmt.Sprintf("a fence is open (phase %s, %s)", d.Fence.CurrentPhase(), d.Fence.Status.Reason)
	case !ready(d.Node):
		return "it is not Ready, and a drill is for a healthy node"
	case d.Node.Spec.Unschedulable:
		return "it is cordoned: uncordon it, or choose another node"
	case d.Policy == nil:
		return "no FencePolicy selects it"
	case d.Ledger != nil && d.Ledger.Spec.Stop:
		return "fencing is stopped in the whole cluster (kubectl fence start)"
	case d.Policy.Settings.Mode == api.ModeDryRun:
		return fmt.Sprintf("policy %s is in mode DryRun, and fences nothing", d.Policy.Policy.Name)
	case d.Policy.Settings.Action != api.ActionReboot:
		return fmt.Sprintf("policy %s has action %s, and a drill needs Reboot: nothing would switch the machine on again", d.Policy.Policy.Name, d.Policy.Settings.Action)
	}
	if d.Target == nil {
		return "nodefence has not read its devices yet (kubectl fence devices)"
	}
	if c := meta.FindStatusCondition(d.Target.Status.Conditions, api.Fenceable); c == nil || c.Status != metav1.ConditionTrue {
		if c == nil {
			return "nodefence has not read its devices yet (kubectl fence devices)"
		}
		return fmt.Sprintf("its devices could not fence it (%s: %s)", c.Reason, c.Message)
	}
	return ""
}

// checkedWithin is how old the last read of the node's devices may be.
const checkedWithin = time.Hour

// unchecked says why what is known of the devices is no ground for a drill; empty if it is.
func (d Drilled) unchecked(now time.Time) string {
	st := &d.Target.Status
	if st.NodeUID != d.Node.UID {
		return "nodefence has read the devices of an earlier Node of this name, and not of this one (kubectl fence plan --read " + d.Node.Name + ")"
	}
	for _, x := range st.Devices {
		if x.LastChecked == nil || now.Sub(x.LastChecked.Time) > checkedWithin {
			return fmt.Sprintf("its device %s %s was not read within %s (kubectl fence plan --read %s)", x.Driver, x.Address, checkedWithin, d.Node.Name)
		}
	}
	return ""
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

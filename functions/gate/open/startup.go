package open

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// startup is what the policy's startup timeout says of a node, if anything; machine is the trigger on
// account of its Machine.
type startup struct {
	machine  *api.Trigger
	trigger  *api.Trigger
	starting bool
}

// atBirth is how soon after its Node's creation a kubelet says for the first time that
// it is not Ready.
const atBirth = time.Minute

// changedSince: Ready was something else before, so that nobody saw that this node was
// never Ready (S2): nodefence may have come later than the node, or the enrolment may
// be gone. Its conditions count then. A kubelet's clock that is ahead leads here too,
// which only makes the fence wait for those (S30).
func changedSince(n *corev1.Node, t time.Time) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.After(t)
		}
	}
	return false
}

// machineTrigger is the trigger on account of the node's Machine, as policystatus keeps it
// in the status of the policy that decides (S18). It comes before any other, unless a
// person has ended its fence: no time is waited for.
func (o *Opener) machineTrigger(n *corev1.Node, policies []api.FencePolicy) *api.Trigger {
	resolved, _ := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return policy.MachineTrigger(policies, resolved.Policy.Name, n.Name, n.UID, o.Client.Clock().Now())
}

// readStartup looks whether the node was ever Ready: the source enrols each Node object
// when it first is, in a ConfigMap that the node can't write.
func (o *Opener) readStartup(ctx context.Context, n *corev1.Node, policies []api.FencePolicy) (s startup, err error) {
	resolved, ok := policy.ResolvePolicy(policies, n.Name, n.Labels)
	if !ok || look.NodeFrom(n, "").Ready() {
		return s, nil
	}
	for i := range policies {
		timeout := policies[i].Spec.NodeStartupTimeout
		if policies[i].Name != resolved.Policy.Name || timeout == nil {
			continue
		}
		cm, err := o.Client.Enrolment(ctx, o.Namespace, n.Name)
		if err != nil || cm != nil && cm.Data["node_uid"] == string(n.UID) {
			return s, err
		}
		created := n.CreationTimestamp.Time
		if changedSince(n, created.Add(atBirth)) {
			return s, nil
		}
		s.trigger, s.starting = observed.Startup(timeout.Get(), o.Client.Clock().Now().Sub(created), metav1.NewMicroTime(created.UTC()))
	}
	return s, nil
}

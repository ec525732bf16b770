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

// startup is what the startup timeout of the policy says of a node. machine is the trigger on account of the
// node's Machine.
type startup struct {
	machine  *api.Trigger
	trigger  *api.Trigger
	starting bool
}

// atBirth is the time after the creation of a Node within which its kubelet first reports that the node is not
// Ready.
const atBirth = time.Minute

// changedSince tells whether Ready changed after t. Then nobody knows that the node was never Ready (S2):
// nodefence may have come later than the node, or the enrolment may be gone, and the node's conditions count
// instead. A kubelet whose clock is ahead has the same effect: the fence waits for the conditions (S30).
func changedSince(n *corev1.Node, t time.Time) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.After(t)
		}
	}
	return false
}

// machineTrigger returns the trigger on account of the node's Machine, from the status of the policy that
// decides, which policystatus writes (S18). The trigger comes before any other, and no time is waited for,
// unless a person has aborted its fence.
func (o *Opener) machineTrigger(n *corev1.Node, policies []api.FencePolicy) *api.Trigger {
	resolved, _ := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return policy.MachineTrigger(policies, resolved.Policy.Name, n.Name, n.UID, o.Client.Clock().Now())
}

// readStartup reads whether the node was ever Ready: the source enrols each Node object when it is first Ready,
// in a ConfigMap that the node can't write.
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

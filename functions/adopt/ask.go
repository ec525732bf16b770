package adopt

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/policy"
)

// refused is why no policy lets an object have its fence. The gate asks the same, and more, later.
func (a *Adopter) refused(ctx context.Context, o *far.Object, n *corev1.Node) (error, error) {
	strategy, err := o.Spec.Strategy()
	if err != nil {
		return nil, nil // Decide says so
	}
	policies, err := a.Objects.Policies(ctx)
	if err != nil {
		return nil, err
	}
	p, selected := policy.ResolvePolicy(policies, n.Name, n.Labels)
	switch {
	case !selected:
		return fmt.Errorf("no FencePolicy selects node %s, so nodefence may not fence it: apply one, such as policy workers of infra/crd/examples/policies.yaml", n.Name), nil
	case p.Settings.Action != api.ActionReboot && p.Settings.Action != api.ActionOff:
		return fmt.Errorf("FencePolicy %s has action: %s, and a FenceAgentsRemediation switches the machine: write action: Reboot or PowerOff there", p.Policy.Name, p.Settings.Action), nil
	}
	_, why := far.Release(strategy, p)
	return why, nil
}

// longestReason is what a FenceRequest takes.
const longestReason = 256

// requestOf is the FenceRequest that is made of an object. The object alone owns it, so that
// Kubernetes deletes it, and so withdraws it, where the object is gone by force. A NodeHealthCheck
// that owns the object is named in an annotation: it holds the node's Lease (medik8s-leases), and the
// gate does not wait for whoever has asked.
func requestOf(o *far.Object, node string) *api.FenceRequest {
	r := &api.FenceRequest{Spec: api.FenceRequestSpec{NodeName: node, Reason: clip.To(longestReason, o.Words())}}
	r.Namespace, r.Name = o.Namespace, far.RequestName(o, node)
	for _, owner := range o.OwnerReferences {
		if owner.Kind == "NodeHealthCheck" && strings.HasPrefix(owner.APIVersion, "remediation.medik8s.io/") {
			r.Annotations = map[string]string{api.OnBehalfOfAnnotation: owner.Kind + "/" + owner.Name}
		}
	}
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: far.GroupVersion, Kind: far.Kind, Name: o.Name, UID: o.UID}}
	return r
}

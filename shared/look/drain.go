package look

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Draining reads which pods have still to leave a node before its machine is cut.
func Draining(ctx context.Context, c *kube.Client, f *api.NodeFence) (*observed.Draining, error) {
	pods, err := c.PodsOn(ctx, f.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	var isolatedAt *api.Time
	if r := f.Status.Drain; r != nil {
		isolatedAt = r.IsolatedAt
	}
	return drainingOf(pods, isolatedAt), nil
}

// drainingOf selects those that kubectl drain would evict, with --force: not the node's own, and not
// those that have ended. A pod that has ended and is being deleted is leaving until its kubelet has
// unmounted its volumes and forced its deletion; after that only finalizers keep its object, and the
// node has no part in it. One that was made after the node was isolated tolerates that, and would
// come back for ever. Both times are the API server's; that of a pod is in whole seconds, so one of
// the same second is asked to leave.
func drainingOf(pods []corev1.Pod, isolatedAt *api.Time) *observed.Draining {
	on := &observed.Draining{}
	for i := range pods {
		p := &pods[i]
		switch {
		case !TheWork(p) || ended(p) && forced(p) || isolatedAt != nil && p.CreationTimestamp.After(isolatedAt.Time):
		case p.DeletionTimestamp != nil:
			on.Leaving = append(on.Leaving, p.Namespace+"/"+p.Name)
		default:
			on.Evict = append(on.Evict, observed.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Ready: podReady(p)})
		}
	}
	slices.SortFunc(on.Evict, func(a, b observed.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(on.Leaving)
	return on
}

package recover

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// backInService removes the out-of-service taint that nodefence placed, if no open record is left
// that would remove it (S23), and the node is healthy: it is Ready, and its Lease has moved since
// this process looked last. The first look at a Lease tells nothing (S30), so that the taint goes at
// the second event, a resync later.
//
// What is nodefence's is said by an annotation, which is written with the taint. A taint that a person
// has placed has none (S22). The node is changed only as it was looked at. If the process dies before the
// write, the taint and the annotation stay, and the source tells of them again; after it, neither is
// there.
func (r *Recoverer) backInService(ctx context.Context, n *corev1.Node, f *api.NodeFence, e event.Event) error {
	by, seen := kube.OutOfServiceBy(n.Annotations, n.ManagedFields), look.NodeFrom(n, "")
	if by == "" || f != nil && f.Open() || !seen.Ready() {
		return nil
	}
	l, err := r.Client.Lease(ctx, n.Name)
	if err != nil || l == nil {
		return err
	}
	mark := look.LeaseMark(l)
	if was, looked := r.renewed.Swap(n.UID, mark); !looked || was == mark {
		return nil
	}
	if err := r.Client.RemoveOutOfService(ctx, n.Name, n.UID, n.ResourceVersion, by); err != nil {
		return fmt.Errorf("remove an out-of-service taint without a record from %s: %w", n.Name, err)
	}
	r.renewed.Delete(n.UID)
	r.Log.Info("removed an out-of-service taint without a record", "function", Name, "node", n.Name, "event", e.ID(), "fence", by)
	return nil
}

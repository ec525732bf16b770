package machine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseFactor is upstream's: a Lease lasts as long as four renewals.
const leaseFactor = 4

// renewLease has a loop of its own, so that slow pods don't make a node late.
func (k *kubelet) renewLease() {
	var lease *coordinationv1.Lease
	tick := time.NewTicker(k.config.LeasePeriod)
	defer tick.Stop()
	for {
		if ctx, online := k.kernel.online(); online && k.kernel.renews() {
			renewed, err := k.renew(ctx, lease)
			if err != nil && ctx.Err() == nil {
				slog.Warn("lease not renewed", "node", k.machine.name, "error", err)
			}
			lease = renewed
		}
		select {
		case <-tick.C:
		case <-k.kernel.ctx.Done():
			return
		}
	}
}

// renew returns the Lease to renew next time, or nil to read it again.
func (k *kubelet) renew(ctx context.Context, last *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, k.config.LeasePeriod)
	defer cancel()
	leases := k.cluster.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if last == nil {
		found, err := leases.Get(ctx, k.machine.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return wrap(leases.Create(ctx, k.fill(&coordinationv1.Lease{}), metav1.CreateOptions{}))
		}
		if err != nil {
			return nil, fmt.Errorf("get lease: %w", err)
		}
		last = found
	}
	return wrap(leases.Update(ctx, k.fill(last.DeepCopy()), metav1.UpdateOptions{}))
}

func wrap(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return nil, fmt.Errorf("renew lease: %w", err)
	}
	return lease, nil
}

func (k *kubelet) fill(lease *coordinationv1.Lease) *coordinationv1.Lease {
	name := k.machine.name
	seconds := max(1, int32((leaseFactor * k.config.LeasePeriod).Seconds()))
	now := metav1.NewMicroTime(time.Now())
	lease.Name, lease.Namespace = name, corev1.NamespaceNodeLease
	lease.OwnerReferences = []metav1.OwnerReference{ownerReference(name, k.nodeUID)}
	lease.Spec.HolderIdentity = &name
	lease.Spec.LeaseDurationSeconds = &seconds
	lease.Spec.RenewTime = &now
	return lease
}

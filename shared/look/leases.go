package look

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// defaultLease is the kubelet's own: where a Lease does not say how long it is
// valid, it is this.
const defaultLease = 40 * time.Second

// LeaseMark is a Lease's renewTime as a mark that is compared with itself only (S30).
func LeaseMark(l *coordinationv1.Lease) string {
	if l.Spec.RenewTime == nil {
		return ""
	}
	return l.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
}

// SlowestRenewal is the longest time between two renewals that a Lease is believed
// to have: with less than two in the node-monitor-grace-period (50 s) its node turns
// NotReady now and then without nodefence. A kubelet may write what it likes into its own
// Lease, and the longest renewal of all is what the whole cluster's fences wait for (S15).
const SlowestRenewal = 25 * time.Second

// LeaseRenewal is the time between two renewals: kubelets renew four times in
// a Lease's duration.
func LeaseRenewal(l *coordinationv1.Lease) time.Duration {
	return min(saidRenewal(l), SlowestRenewal)
}

// LeaseTooSlow is what a Lease says of its renewal where that is not believed.
func LeaseTooSlow(l *coordinationv1.Lease) (said time.Duration, is bool) {
	if said = saidRenewal(l); said > SlowestRenewal {
		return said, true
	}
	return 0, false
}

func saidRenewal(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second / 4
	}
	return defaultLease / 4
}

// Lease sees the node's Lease.
func Lease(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	l, err := c.Lease(ctx, f.Spec.NodeName)
	if err != nil || l == nil {
		return err
	}
	seen.Lease = fence.Lease{Exists: true, Renewed: LeaseMark(l), Renewal: LeaseRenewal(l)}
	return nil
}

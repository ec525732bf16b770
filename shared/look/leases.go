package look

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// defaultLease is the kubelet's default, for a Lease that does not say how long it is
// valid.
const defaultLease = 40 * time.Second

// LeaseMark is a Lease's renewTime, as a mark that is only compared with itself (S30: one
// clock, the API server's).
func LeaseMark(l *coordinationv1.Lease) string {
	if l.Spec.RenewTime == nil {
		return ""
	}
	return l.Spec.RenewTime.UTC().Format(time.RFC3339Nano)
}

// SlowestRenewal is the longest time between two renewals that nodefence accepts from a
// Lease. With fewer than two renewals in the node-monitor-grace-period (50 s), a node turns
// NotReady now and then without any fault. A kubelet may write any duration into its own
// Lease, and the fences of the whole cluster wait for the longest one (S15: a storm is seen
// as one).
const SlowestRenewal = 25 * time.Second

// LeaseRenewal is the time between two renewals: kubelets renew four times in a Lease's
// duration.
func LeaseRenewal(l *coordinationv1.Lease) time.Duration {
	return min(saidRenewal(l), SlowestRenewal)
}

// LeaseTooSlow returns the renewal time that a Lease says, if it is longer than accepted.
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

// Lease reads the node's Lease. Call it after Node.
func Lease(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	l, err := c.Lease(ctx, f.Spec.NodeName)
	if err != nil || l == nil {
		return err
	}
	seen.Lease = observed.Lease{Exists: true, Renewed: LeaseMark(l), Renewal: LeaseRenewal(l)}
	withoutAborted(f, seen)
	return nil
}

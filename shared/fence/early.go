package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A policy may take a Lease that stands still for an early probe. Such a fence is
// counted, limited and reserved like any other, and may read the machine; what
// ran on a machine that is proven off is released. For the Lease alone nothing is
// switched off, and nothing is placed on a node whose machine is on: for that a
// condition of the policy must have held for its time, as in any fence.

// suspectAt is when the Lease has stood still for as long as the policy asks;
// zero if it is no evidence.
func (d *decision) suspectAt() (at time.Time) {
	e, s := Early(d.dec.ResolvedPolicy), d.st.Lease.StillSince
	if e == nil || s == nil || !d.seen.Lease.Exists {
		return at
	}
	return s.Add(e.LeaseStillDuration.Duration)
}

func (d *decision) suspected() bool {
	at := d.suspectAt()
	return !at.IsZero() && !at.After(d.now)
}

// stillSinceOpened: the Lease for which this fence was opened, or for which its node was
// marked, has not moved since.
func (d *decision) stillSinceOpened() bool {
	if d.st.Release.MarkedAt != nil && d.suspected() {
		return true
	}
	return d.dec.Trigger.Suspicion() && !d.suspectAt().IsZero() && d.st.OpenedAt != nil && !d.leaseMovedSince(*d.st.OpenedAt)
}

// ourMark: it was nodefence that set Ready to Unknown, and Kubernetes has not
// lost the node by itself since: then what the kubelet says of its resources
// would be Unknown too. An early probe must not become a condition by our doing.
func (d *decision) ourMark(c Condition) bool {
	if Early(d.dec.ResolvedPolicy) == nil || c.Type != "Ready" || c.Reason != api.NotReadyReason {
		return false
	}
	for _, o := range d.seen.Node.Conditions {
		if (o.Type == "MemoryPressure" || o.Type == "DiskPressure" || o.Type == "PIDPressure") && o.Status == "Unknown" {
			return false
		}
	}
	return true
}

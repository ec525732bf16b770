package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A policy may take a Lease that stands still for an early probe. Such a fence is
// counted, limited and reserved like any other, and may read the machine; what
// ran on a machine that is proven off is released. For the Lease alone nothing is
// switched off, and nothing is placed on a node whose machine is on: for that a
// condition of the policy must have held for its time, as in any fence.

// suspectAt is when the Lease has stood still for as long as the policy asks;
// zero if it is no evidence.
func (d *Facts) suspectAt() (at time.Time) {
	e, s := Early(d.Decision.ResolvedPolicy), d.Record.Lease.StillSince
	if e == nil || s == nil || !d.Seen.Lease.Exists {
		return at
	}
	return s.Add(e.LeaseStillDuration.Duration)
}

// Suspected: the Lease stands still for as long as an early probe asks.
func (d *Facts) Suspected() bool {
	at := d.suspectAt()
	return !at.IsZero() && !at.After(d.Now)
}

// StillSinceOpened: the Lease for which this fence was opened, or for which its node was
// marked, has not moved since.
func (d *Facts) StillSinceOpened() bool {
	if d.Record.Release.MarkedAt != nil && d.Suspected() {
		return true
	}
	return d.Decision.Trigger.Suspicion() && !d.suspectAt().IsZero() && d.Record.OpenedAt != nil && !d.LeaseMovedSince(*d.Record.OpenedAt)
}

// OurMark: it was nodefence that set Ready to Unknown, and Kubernetes has not
// lost the node by itself since: then what the kubelet says of its resources
// would be Unknown too. An early probe must not become a condition by our doing.
func (d *Facts) OurMark(c observed.Condition) bool {
	if Early(d.Decision.ResolvedPolicy) == nil || c.Type != "Ready" || c.Reason != api.NotReadyReason {
		return false
	}
	for _, o := range d.Seen.Node.Conditions {
		if (o.Type == "MemoryPressure" || o.Type == "DiskPressure" || o.Type == "PIDPressure") && o.Status == "Unknown" {
			return false
		}
	}
	return true
}

// DueAt is when the first of the conditions, or the Lease where it is evidence,
// has held for as long as the policy asks.
func (d *Facts) DueAt() time.Time {
	if d.AskedFor() {
		return time.Time{}
	}
	return Sooner(ConditionsDue(d.Decision, d.Record), d.suspectAt())
}

// NeverReady: the node for which this fence was opened, as it was never Ready, is
// not Ready yet. Once it is, that is over: from then on its conditions count.
func (d *Facts) NeverReady() bool {
	n := d.Seen.Node
	return d.Decision.Trigger.Startup() && n.Exists && n.UID == d.Decision.NodeUID && !n.Ready()
}

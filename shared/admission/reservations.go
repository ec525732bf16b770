package admission

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Fences that run, and fences that began lately, count by the limits that held when
// they were reserved. By its labels alone a node is forgotten as soon as its Node object
// is deleted, which may be what the fence is for, or is given another label: then a
// whole pool could be deleted one by one, under a rate that never holds (S14).

// countedBy are the limits by which a reservation made now counts: each policy's totals,
// and its domain besides. In which domain a node had been that is gone by now is known to
// nobody: it counts in each.
func countedBy(f *api.NodeFence, c Picture) (all []api.CountedBy) {
	for _, lim := range f.Status.Decision.Limits {
		for _, s := range scopes(lim) {
			by := api.CountedBy{Policy: lim.Policy, TopologyKey: s.key, Domain: c.domain(s, f.Spec.NodeName)}
			if (s.key == "" || c.has(f.Spec.NodeName)) && !slices.Contains(all, by) {
				all = append(all, by)
			}
		}
	}
	return all
}

// placeSlots notes by which limits the slots count that do not say so, such as those that
// were put back.
func placeSlots(l *api.FenceLedger, c Picture) {
	for i := range c.Fences {
		f := &c.Fences[i]
		for j := range l.Status.Reservations {
			r := &l.Status.Reservations[j]
			if r.CountedBy != nil || r.FenceUID != f.UID || r.FenceNumber != f.Status.FenceNumber {
				continue
			}
			r.CountedBy = countedBy(f, c)
		}
	}
}

// reservation is one for this fence, made now.
func reservation(f *api.NodeFence, c Picture, now time.Time) api.Reservation {
	return api.Reservation{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: observed.StampOf(now), CountedBy: countedBy(f, c), FenceVersion: f.ResourceVersion, DeviceCallTimeout: f.Status.Decision.LongerCall()}
}

func reservationOf(all []api.Reservation, f *api.NodeFence) (api.Reservation, bool) {
	for _, r := range all {
		if r.NodeName == f.Spec.NodeName && r.FenceUID == f.UID && r.FenceNumber == f.Status.FenceNumber {
			return r, true
		}
	}
	return api.Reservation{}, false
}

// ReservedAt is when this fence's slot was reserved, if it has one.
func ReservedAt(l *api.FenceLedger, f *api.NodeFence) *time.Time {
	if r, ok := reservationOf(l.Status.Reservations, f); ok && !givenBack(r, f) {
		return &r.At.Time
	}
	return nil
}

// givenBack: this reservation was given back without a fence.
func givenBack(r api.Reservation, f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Pending && f.Status.GivenBack != nil && f.Status.GivenBack.Time.Equal(r.At.Time)
}

// withSlot is a node's fence as the census has it, where that was seen later than its slot
// was reserved. A fence that was seen earlier waits to go on with its slot, or has gone on
// since. Of one that is not known the same is true, or its record is gone.
func withSlot(is api.NodeFence, r api.Reservation) (f api.NodeFence, known bool) {
	mine, later := is.UID == r.FenceUID, versionOf(is.ResourceVersion) > versionOf(r.FenceVersion)
	switch {
	case mine && is.Status.FenceNumber > r.FenceNumber, mine && is.Status.FenceNumber == r.FenceNumber && (later || is.HoldsSlot()):
		return is, true
	case mine && is.Status.FenceNumber == r.FenceNumber:
		is.Status.Phase, is.Status.GivenBack = api.Pending, nil
		return is, true
	}
	f = api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: r.NodeName, UID: r.FenceUID, ResourceVersion: r.FenceVersion}}
	f.Spec.NodeName = r.NodeName
	f.Status.FenceNumber, f.Status.Phase, f.Status.Decision.NodeUID = r.FenceNumber, api.Pending, unknownUID
	return f, false
}

// unknownUID stands for the UID of a Node that the census does not say.
const unknownUID = "unknown"

// before: a fence is shown as it was before it was let drain, or another one of its node is.
func before(f *api.NodeFence, r api.Reservation) bool {
	if f.UID != r.FenceUID || f.Status.FenceNumber < r.FenceNumber {
		return true
	}
	return f.Status.FenceNumber == r.FenceNumber && versionOf(f.ResourceVersion) < versionOf(r.FenceVersion)
}

// versionOf is a resourceVersion as a number; 0 where it is none, which is before any other.
func versionOf(v string) uint64 {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

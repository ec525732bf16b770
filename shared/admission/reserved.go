package admission

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

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

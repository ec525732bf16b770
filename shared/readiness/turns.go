package readiness

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// devicesOf returns the devices of all levels and of the isolation, with the earlier
// results for each.
func devicesOf(bound []api.Binding, known []api.TargetDevice) []api.TargetDevice {
	all := make([]api.TargetDevice, 0, len(bound))
	for i := range bound {
		b := &bound[i]
		d := api.TargetDevice{Driver: b.Driver, Address: b.Address, Role: b.Role, Enrolled: b.Identity, Reason: api.NotCheckedYet}
		for _, k := range known {
			// Its identity was compared with the enrolled one at that time.
			if k.Driver == d.Driver && k.Address == d.Address && k.Role == d.Role && k.Enrolled == d.Enrolled {
				d = k
			}
		}
		all = append(all, d)
	}
	return all
}

// oldest is the device whose last turn is longest ago. It leaves out devices that have
// refused the account; false if all of them have. A device that refused before a person
// asked for a check counts: that person may have corrected the account.
func oldest(st *api.FenceTargetStatus, since time.Time) (first int, ok bool) {
	all, wish := st.Devices, st.CheckNow
	for i := range all {
		wished := wish != nil && wish.DoneAt == nil && all[i].LastChecked.Before(&wish.At)
		if t := all[i].LastChecked; all[i].Reason == api.DeviceDenied && t != nil && t.After(since) && !wished {
			continue
		}
		a, b := asked(all[i]), asked(all[first])
		if !ok || b != nil && (a == nil || a.Before(b)) {
			first, ok = i, true
		}
	}
	return first, ok
}

// asked is when a device had its last turn. A turn without a result counts too.
func asked(d api.TargetDevice) *api.Time {
	if d.LastAsked != nil {
		return d.LastAsked
	}
	return d.LastChecked
}

// heeded notes that each device had its turn since a person asked for a check.
func heeded(st *api.FenceTargetStatus, now api.Time) {
	if wish := st.CheckNow; wish != nil && wish.DoneAt == nil && !slices.ContainsFunc(st.Devices, func(d api.TargetDevice) bool {
		last := asked(d)
		return last == nil || last.Before(&wish.At)
	}) {
		wish.DoneAt = &now
	}
}

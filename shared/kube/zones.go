package kube

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// Zones are the time zones that the policies' pause windows name. One that is not known
// is left out: its window can't be read then, and holds at all times (S30).
func Zones(policies []api.FencePolicy) fence.Zones {
	var all fence.Zones
	for i := range policies {
		for _, w := range policies[i].Spec.PauseWindows {
			if w.TimeZone == nil {
				continue
			}
			// Local would be whatever the machine is set to on which this runs.
			zone, err := time.LoadLocation(*w.TimeZone)
			if err != nil || *w.TimeZone == "Local" {
				continue
			}
			if all == nil {
				all = fence.Zones{}
			}
			all[*w.TimeZone] = zone
		}
	}
	return all
}

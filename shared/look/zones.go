package look

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Zones are the time zones that the policies' pause windows name. An unknown zone is left
// out: its window can't be read then, and holds at all times (S30).
func Zones(policies []api.FencePolicy) policy.Zones {
	var all policy.Zones
	for i := range policies {
		for _, w := range policies[i].Spec.PauseWindows {
			if w.TimeZone == nil {
				continue
			}
			// Local would be the zone of the machine on which this process runs.
			zone, err := time.LoadLocation(*w.TimeZone)
			if err != nil || *w.TimeZone == "Local" {
				continue
			}
			if all == nil {
				all = policy.Zones{}
			}
			all[*w.TimeZone] = zone
		}
	}
	return all
}

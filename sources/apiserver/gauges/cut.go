package gauges

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// cutShown is how long a cut is shown after its fence has ended: several scrapes of any Prometheus, and time for a
// person to see the notice.
const cutShown = time.Hour

// cut is the last time at which a fence cut a node off.
type cut struct {
	policy string
	at     time.Time
	// open says that the fence that cut the node off is not closed.
	open bool
}

// lastCut returns the last cut of a node: power that was cut, or a device for storage or network that was told to cut
// access.
func lastCut(f *api.NodeFence) (c cut) {
	c.policy, c.open = policyOf(f), f.Open()
	note := func(at *api.Time) {
		if at != nil && at.After(c.at) {
			c.at = at.Time
		}
	}
	note(f.Status.Power.CutAt)
	for _, r := range f.Status.Isolation {
		note(r.OffAt)
		note(r.SeenCutAt)
	}
	return c
}

// shown tells whether a cut is shown at a time.
func (c cut) shown(now time.Time) bool {
	return !c.at.IsZero() && (c.open || now.Before(c.at.Add(cutShown)))
}

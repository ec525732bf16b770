package facts

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// OpenedFor says why a fence opened.
func (d *Facts) OpenedFor() string {
	t := d.Decision.Trigger
	since := " since " + t.Since.UTC().Format(time.RFC3339)
	switch by := d.Decision.Asker(); {
	case t.Asked() && by != nil:
		return by.Words()
	case t.NodeCondition != nil:
		return t.NodeCondition.Type + "=" + t.NodeCondition.Status + since
	case t.Suspicion():
		return "its Lease stands still" + since
	case t.Startup():
		return "it was never Ready" + since
	case t.Reason != "":
		return t.Reason + ", seen" + since
	}
	return string(t.Type) + since
}

// KeptPast are the last fences, and those before them whose cuts count still: fences that
// end without a cut must not have a node's limit forgotten (S26).
func (d *Facts) KeptPast(past []api.PastFence) []api.PastFence {
	spare, newest, i := len(past)-MaxPast, len(past)-1, -1
	past = slices.DeleteFunc(past, func(p api.PastFence) bool {
		if i++; i == newest || spare <= 0 || p.Cuts > 0 && d.Now.Sub(p.ClosedAt.Time) < CutsCount {
			return false // when the newest ended says which requests are about it
		}
		spare--
		return true
	})
	return past[max(0, len(past)-MostPast):] // more than any limit lets a day have
}

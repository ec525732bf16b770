package facts

import (
	"time"
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

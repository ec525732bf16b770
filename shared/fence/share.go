package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// begins tells whether a fence may begin under these limits with so many of
// total unhealthy. The share of the proposal's ConfigMap is one at which nothing
// begins any more, where maxUnhealthy is the most with which something does.
func begins(l api.ScopedLimits, unhealthy, total int) (api.Reason, string) {
	if l.SkipFrom > 0 {
		skip := unhealthy*100 >= int(l.SkipFrom)*total
		return stormUnless(!skip), fmt.Sprintf("%d of %d nodes are unhealthy, fencing is skipped from %d%%", unhealthy, total, l.SkipFrom)
	}
	return mayBegin(l.Limits, unhealthy, total)
}

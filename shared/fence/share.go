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

// NeverBegins says with its numbers that limits let no fence of this node begin, even
// while no other node is unhealthy, and which field helps; empty where they let one.
func NeverBegins(l api.ScopedLimits, c Cluster, node string) string {
	domain := c.domain(l, node)
	_, total := count(l, domain, c, &api.FenceLedger{})
	why, numbers := begins(l, 1, total)
	if why != api.StormHold {
		return ""
	}
	help := "set atLeastOne: true, or a number of nodes instead of a percentage"
	if l.SkipFrom > 0 {
		help = "raise the percentage"
	}
	return "policy " + l.Policy + in(l, domain) + ": with this node alone " + numbers + ", so that no fence ever begins; " + help
}

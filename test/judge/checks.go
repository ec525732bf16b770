package judge

import (
	"fmt"
	"slices"
)

// judgeChecks adds up the Jobs of checks allowed at the same time.
func (t *timeline) judgeChecks() {
	for i := range t.ledger {
		l := &t.ledger[i]
		if i == 0 || l.object == nil || t.ledger[i-1].object == nil || t.ledger[i-1].Epoch != l.Epoch || len(l.object.Status.Checking) == 0 {
			continue
		}
		was, jobs, fresh := t.ledger[i-1].object, int32(0), int64(0)
		node := ""
		for _, c := range l.object.Status.Checking {
			jobs += c.Jobs
			if !slices.Contains(was.Status.Checking, c) {
				node, fresh = c.NodeName, c.FenceNumber
			}
		}
		limit := int32(25)
		if c := l.object.Spec.Checks; c != nil && c.Concurrent != nil {
			limit = *c.Concurrent
		}
		if node == "" || !l.ofNodefence() || t.declares(OthersWrite, node) {
			continue
		}
		t.countOne("rounds of checks")
		if jobs > limit {
			t.addBreach(limitsHold, node, fresh, fmt.Sprintf("with its round of checks %d Jobs may run, and spec.checks.concurrent is %d", jobs, limit), l.cite("the Jobs are allowed"))
		}
	}
}

package judge

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// judgeRates counts the fences begun within the period of a policy's maxRate.
func (t *timeline) judgeRates() {
	for i := range t.ledger {
		l := &t.ledger[i]
		if i == 0 || l.object == nil || t.ledger[i-1].object == nil || t.ledger[i-1].Epoch != l.Epoch {
			continue // the ledger before is not known
		}
		for _, r := range l.object.Status.Admitted {
			was := slices.ContainsFunc(t.ledger[i-1].object.Status.Admitted, func(o api.Reservation) bool {
				return o.FenceUID == r.FenceUID && o.FenceNumber == r.FenceNumber
			})
			if !was && l.ofNodefence() && !t.declares(OthersWrite, r.NodeName) {
				t.judgeRate(l, r)
			}
		}
	}
}

func (t *timeline) judgeRate(l *version[api.FenceLedger], r api.Reservation) {
	for _, by := range r.CountedBy {
		p := t.policies[by.Policy].stoodSince(l.Received.Add(-lookTakes), l.Write)
		if by.TopologyKey == "" && len(t.policies[by.Policy]) == 0 {
			t.leaveOut("maxRate of policy %s: the history has no version of the policy", by.Policy)
		}
		if by.TopologyKey != "" || p == nil || p.object == nil || p.object.Spec.Limits.MaxRate == nil {
			continue
		}
		rate := p.object.Spec.Limits.MaxRate
		period, err := time.ParseDuration(string(rate.Period))
		if err != nil {
			t.leaveOut("maxRate of policy %s: %v", by.Policy, err)
			continue
		}
		begun := 0
		for _, a := range l.object.Status.Admitted {
			if slices.Contains(a.CountedBy, by) && r.At.Sub(a.At.Time) < period-clockSlack {
				begun++
			}
		}
		t.countOne("fences under a maxRate")
		if begun > int(rate.Count) {
			t.addBreach(limitsHold, r.NodeName, r.FenceNumber, fmt.Sprintf("it is fence number %d within %s under policy %s, and maxRate is %d", begun, period, by.Policy, rate.Count), p.cite("maxRate is set"), l.cite("the fence is admitted"))
		}
	}
}

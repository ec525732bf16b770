package judge

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// limitsHold is the promise about the limits.
const limitsHold = "S14: the limits hold under every interleaving"

// scope is the nodes over which a maxConcurrent counts: the nodes of a policy, or of a domain.
type scope struct{ policy, key, domain string }

// String names a scope in a sentence.
func (s scope) String() string {
	if s.key == "" {
		return "policy " + s.policy
	}
	return fmt.Sprintf("policy %s, %s=%s", s.policy, s.key, s.domain)
}

// judgeLimits counts the reservations under each limit of a new reservation.
func (t *timeline) judgeLimits() {
	for i := range t.ledger {
		l := &t.ledger[i]
		if i == 0 || l.object == nil || t.ledger[i-1].object == nil || t.ledger[i-1].Epoch != l.Epoch {
			continue // the ledger before is not known
		}
		for _, r := range l.object.Status.Reservations {
			was := slices.ContainsFunc(t.ledger[i-1].object.Status.Reservations, func(o api.Reservation) bool {
				return o.FenceUID == r.FenceUID && o.FenceNumber == r.FenceNumber
			})
			switch {
			case was || t.declares(OthersWrite, r.NodeName):
			case !l.ofNodefence():
				t.leaveOut("a reservation of %s that %s wrote, who is not a function of nodefence", r.NodeName, l.User)
			default:
				t.judgeReservation(l, r)
			}
		}
	}
}

func (t *timeline) judgeReservation(l *version[api.FenceLedger], r api.Reservation) {
	t.countOne("reservations")
	if len(r.CountedBy) == 0 {
		t.leaveOut("the limits of a reservation of %s: it names none", r.NodeName)
	}
	for _, by := range r.CountedBy {
		s := scope{by.Policy, by.TopologyKey, by.Domain}
		limit, known := t.limitOf(s, l.Write)
		if !known {
			t.leaveOut("maxConcurrent of %s: the history has no version of the policy", s)
			continue
		}
		if used := t.inUse(l, s); len(used) > limit {
			var cited []Cited
			for _, u := range used {
				cited = append(cited, u.cite)
			}
			t.addBreach(limitsHold, r.NodeName, r.FenceNumber, fmt.Sprintf("its reservation is number %d under %s, and maxConcurrent is %d", len(used), s, limit), append(cited, l.cite("the slot of "+r.NodeName+" is reserved"))...)
		}
	}
}

// limitOf returns the highest maxConcurrent that the gate may have seen.
func (t *timeline) limitOf(s scope, w *Write) (limit int, known bool) {
	all := t.policies[s.policy]
	last := all.lastBefore(w)
	for i := range all {
		v := &all[i]
		if v.Epoch != w.Epoch || v != last && (!v.precedes(w) || v.Done.Before(w.Received.Add(-lookTakes))) {
			continue
		}
		if v.object == nil {
			continue
		}
		known = true
		limit = max(limit, maxConcurrent(&v.object.Spec.Limits, s))
	}
	return limit, known
}

// maxConcurrent is a policy's maxConcurrent for a scope. A domain without a limit has the policy's.
func maxConcurrent(l *api.Limits, s scope) int {
	most := 1
	if l.MaxConcurrent != nil {
		most = int(*l.MaxConcurrent)
	}
	if s.key != "" && l.PerDomain != nil && l.PerDomain.TopologyKey == s.key && l.PerDomain.MaxConcurrent != nil {
		most = int(*l.PerDomain.MaxConcurrent)
	}
	return max(1, most)
}

// user is a node with a slot in use.
type user struct {
	node string
	cite Cited
}

// inUse are the nodes whose slots count in a scope: by their reservations, and by the phases of their
// fences.
func (t *timeline) inUse(l *version[api.FenceLedger], s scope) (all []user) {
	for _, r := range l.object.Status.Reservations {
		if countsIn(r, s) {
			all = append(all, user{r.NodeName, l.cite("slot of " + r.NodeName + ", reserved at " + r.At.UTC().Format("15:04:05.000"))})
		}
	}
	for node, fences := range t.fences {
		v := fences.lastBefore(l.Write)
		if v == nil || v.object == nil || !holdsSlot(v.object) || slices.ContainsFunc(all, func(u user) bool { return u.node == node }) {
			continue
		}
		if r := t.lastSlot(v.object, l.Write); r != nil && countsIn(*r, s) {
			all = append(all, user{node, v.cite("the fence is in phase " + string(v.object.Status.Phase))})
		}
	}
	return all
}

func countsIn(r api.Reservation, s scope) bool {
	return slices.Contains(r.CountedBy, api.CountedBy{Policy: s.policy, TopologyKey: s.key, Domain: s.domain})
}

// lastSlot returns the last reservation of a fence before a write.
func (t *timeline) lastSlot(f *api.NodeFence, w *Write) *api.Reservation {
	for i := range slices.Backward(t.ledger) {
		l := &t.ledger[i]
		if l.Epoch != w.Epoch || l.object == nil || !l.precedes(w) {
			continue
		}
		if r := slotOf(l.object, f); r != nil {
			return r
		}
	}
	return nil
}

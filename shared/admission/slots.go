package admission

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// takesRoom tells whether a reservation counts in this scope, for this domain: by what
// was true when it was made, or by its node as it is. One that counts by the policy, and
// in no known domain of it, counts in each.
func takesRoom(s scope, domain string, r api.Reservation, c Picture) bool {
	if isCounted(s, domain, c.node(r.NodeName)) {
		return true
	}
	under, elsewhere := false, false
	for _, by := range r.CountedBy {
		switch {
		case by.Policy != s.Policy:
		case by.TopologyKey == s.key && by.Domain == domain:
			return true
		case by.TopologyKey == s.key:
			elsewhere = true
		default:
			under = true
		}
	}
	return under && !elsewhere
}

func put(all []api.Reservation, r api.Reservation, same func(api.Reservation) bool) []api.Reservation {
	if i := slices.IndexFunc(all, same); i >= 0 {
		all[i] = r
		return all
	}
	return append(all, r)
}

// room: no policy may have more slots in use than it allows, in all and in a domain.
func room(f *api.NodeFence, c Picture, l *api.FenceLedger, _ time.Time) *observed.Verdict {
	if v := fits(f, l); v != nil {
		return v
	}
	for _, lim := range f.Status.Decision.Limits {
		for _, s := range scopes(lim) {
			if v := roomFor(f, s, c, l.Status.Reservations, "fences are running"); v != nil {
				return v
			}
		}
	}
	return nil
}

// The ledger's lists of slots and of fences under way take twice as many as these, so that
// what is put back into them after they were lost always fits: a list that the API server
// refuses would hold what has begun, too.
const (
	maxSlots    = 1024
	maxUnderWay = 2048
)

// fits: the ledger can keep this fence beside the others.
func fits(f *api.NodeFence, l *api.FenceLedger) *observed.Verdict {
	if _, has := reservationOf(l.Status.Reservations, f); !has && len(l.Status.Reservations) >= maxSlots {
		return refuse(api.TooManyConcurrent, fmt.Sprintf("%d fences are running in the whole cluster, and no more may", len(l.Status.Reservations)), askConcurrent)
	}
	if underWayOf(l.Status.UnderWay, f) == nil && len(l.Status.UnderWay) >= maxUnderWay {
		return refuse(api.TooManyConcurrent, fmt.Sprintf("%d fences in the whole cluster have begun and not ended, and no more may", len(l.Status.UnderWay)), askConcurrent)
	}
	return nil
}

func roomFor(f *api.NodeFence, s scope, c Picture, all []api.Reservation, what string) *observed.Verdict {
	used, domain := 0, c.domain(s, f.Spec.NodeName)
	for _, r := range all {
		if r.NodeName != f.Spec.NodeName && takesRoom(s, domain, r, c) {
			used++
		}
	}
	if most := max(1, int(s.maxConcurrent)); used >= most {
		return refuse(api.TooManyConcurrent, fmt.Sprintf("%s%s: %d %s, %smaxConcurrent is %d", facts.PolicyNamed(s.Policy, s.Generation), in(s, domain), used, what, s.field, most), askConcurrent)
	}
	return nil
}

// roomToDrain: no policy may have more nodes drain at once, or drained and waiting, than it has slots,
// in all and in a domain.
func roomToDrain(f *api.NodeFence, c Picture, l *api.FenceLedger, _ time.Time) *observed.Verdict {
	all := l.Status.Draining
	if _, has := reservationOf(all, f); !has && len(all) >= maxSlots {
		return refuse(api.TooManyConcurrent, fmt.Sprintf("%d nodes drain in the whole cluster, or have drained and wait for a slot, and no more may", len(all)), askConcurrent)
	}
	for _, lim := range f.Status.Decision.Limits {
		for _, s := range scopes(lim) {
			if v := roomFor(f, s, c, all, "nodes drain, or have drained and wait for a slot"); v != nil {
				return v
			}
		}
	}
	return nil
}

// rate: no policy may begin more fences in its time than it allows.
func rate(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	for _, lim := range f.Status.Decision.Limits {
		if lim.MaxRate == nil {
			continue
		}
		all, period := scopes(lim)[0], lim.MaxRate.Period.Duration
		begun, next := 0, period
		for _, a := range l.Status.Admitted {
			age := now.Sub(a.At.Time)
			same := a.FenceUID == f.UID && a.FenceNumber == f.Status.FenceNumber
			if same || age >= period || !takesRoom(all, "", a, c) {
				continue
			}
			begun++
			next = min(next, period-age)
		}
		if begun >= int(lim.MaxRate.Count) {
			return refuse(api.TooManyInATime, fmt.Sprintf("%s: %d fences began within %s, %d are allowed; the next in %s",
				facts.PolicyNamed(lim.Policy, lim.Generation), begun, period, lim.MaxRate.Count, next.Round(time.Second)), min(next, facts.Resync))
		}
	}
	return roomToNote(f, l, now)
}

// withDrains puts those in that the census shows as they were before their nodes were let drain: each
// is about to be drained, or is drained by now. lacks says of which nobody knows that.
func withDrains(byNode map[string]api.NodeFence, l *api.FenceLedger, now time.Time) (lacks string) {
	for _, r := range l.Status.Draining {
		is := byNode[r.NodeName]
		if !before(&is, r) {
			continue
		}
		f, known := withSlot(is, r)
		if !known && !observed.Fresh(r.At.Time, now, slotKept(r)) {
			return "it does not know what became of the drain of node " + r.NodeName
		}
		byNode[r.NodeName] = f
	}
	return ""
}

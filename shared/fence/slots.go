package fence

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Fences that run, and fences that began lately, count by the limits that held when
// they were reserved. By its labels alone a node is forgotten as soon as its Node object
// is deleted, which may be what the fence is for, or is given another label: then a
// whole pool could be deleted one by one, under a rate that never holds (S14).

// countedBy are the limits by which a reservation made now counts. In which domain a
// node had been that is gone by now is known to nobody: it counts in each.
func countedBy(f *api.NodeFence, c Cluster) (all []api.CountedBy) {
	for _, lim := range f.Spec.Decision.Limits {
		by := api.CountedBy{Policy: lim.Policy}
		if c.has(f.Spec.NodeName) {
			by.TopologyKey, by.Domain = lim.TopologyKey, c.domain(lim, f.Spec.NodeName)
		}
		if !slices.Contains(all, by) {
			all = append(all, by)
		}
	}
	return all
}

func rated(f *api.NodeFence, policy string) bool {
	return slices.ContainsFunc(f.Spec.Decision.Limits, func(lim api.ScopedLimits) bool { return lim.Policy == policy && lim.Rate != nil })
}

// placeSlots says of slots that were put back, or kept by an older version, by which
// limits they count.
func placeSlots(l *api.FenceLedger, c Cluster) {
	for i := range c.Fences {
		f := &c.Fences[i]
		for j := range l.Status.Reservations {
			r := &l.Status.Reservations[j]
			if r.CountedBy != nil || r.FenceUID != f.UID || r.FenceNumber != f.Spec.FenceNumber {
				continue
			}
			r.CountedBy = countedBy(f, c)
		}
	}
}

// takesRoom tells whether a reservation counts by these limits, in this domain: by what
// was true when it was made, or by its node as it is.
func takesRoom(lim api.ScopedLimits, domain string, r api.Reservation, c Cluster) bool {
	return isCounted(lim, domain, c.node(r.NodeName)) || slices.ContainsFunc(r.CountedBy, func(by api.CountedBy) bool {
		return by.Policy == lim.Policy && (by.TopologyKey != lim.TopologyKey || by.Domain == domain)
	})
}

func reserve(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) {
	r := api.Reservation{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Spec.FenceNumber, At: stampOf(now), CountedBy: countedBy(f, c)}
	l.Status.Reservations = put(l.Status.Reservations, r, func(old api.Reservation) bool { return old.NodeName == r.NodeName })
	if underWayOf(l.Status.UnderWay, f) == nil {
		place(l, f, c, nil)
	}
	l.Status.Admitted = slices.DeleteFunc(l.Status.Admitted, func(a api.Reservation) bool { return now.Sub(a.At.Time) >= 24*time.Hour })
	// Thousands are kept, so only what a rate may ask for.
	r.CountedBy = slices.DeleteFunc(slices.Clone(r.CountedBy), func(by api.CountedBy) bool { return !rated(f, by.Policy) })
	// A fence that is decided again is the same fence.
	l.Status.Admitted = put(l.Status.Admitted, r, func(old api.Reservation) bool { return old.FenceUID == r.FenceUID && old.FenceNumber == r.FenceNumber })
	if n := len(l.Status.Admitted) - maxAdmitted; n > 0 {
		l.Status.Admitted = l.Status.Admitted[n:]
	}
}

// maxAdmitted bounds the ledger: no rate allows more in a day.
const maxAdmitted = 2048

func put(all []api.Reservation, r api.Reservation, same func(api.Reservation) bool) []api.Reservation {
	if i := slices.IndexFunc(all, same); i >= 0 {
		all[i] = r
		return all
	}
	return append(all, r)
}

// room: no policy may have more slots in use than it allows.
func room(f *api.NodeFence, c Cluster, l *api.FenceLedger, _ time.Time) *Verdict {
	for _, lim := range f.Spec.Decision.Limits {
		used, domain := 0, c.domain(lim, f.Spec.NodeName)
		for _, r := range l.Status.Reservations {
			if r.NodeName != f.Spec.NodeName && takesRoom(lim, domain, r, c) {
				used++
			}
		}
		if most := max(1, int(lim.MaxConcurrent)); used >= most {
			return &Verdict{api.ConcurrencyHold, fmt.Sprintf("%s%s: %d fences are running, maxConcurrent is %d", named(lim.Policy, lim.Generation), in(lim, domain), used, most), askConcurrent}
		}
	}
	return nil
}

// rate: no policy may begin more fences in its time than it allows.
func rate(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	for _, lim := range f.Spec.Decision.Limits {
		if lim.Rate == nil {
			continue
		}
		begun, domain, next := 0, c.domain(lim, f.Spec.NodeName), lim.Rate.Within.Duration
		for _, a := range l.Status.Admitted {
			age := now.Sub(a.At.Time)
			same := a.FenceUID == f.UID && a.FenceNumber == f.Spec.FenceNumber
			if same || age >= lim.Rate.Within.Duration || !takesRoom(lim, domain, a, c) {
				continue
			}
			begun++
			next = min(next, lim.Rate.Within.Duration-age)
		}
		if begun >= int(lim.Rate.Fences) {
			return &Verdict{api.RateHold, fmt.Sprintf("%s%s: %d fences began within %s, %d are allowed; the next in %s",
				named(lim.Policy, lim.Generation), in(lim, domain), begun, lim.Rate.Within.Duration, lim.Rate.Fences, next.Round(time.Second)), min(next, Resync)}
		}
	}
	return nil
}

func (c Cluster) has(node string) bool {
	return slices.ContainsFunc(c.Nodes, func(n ClusterNode) bool { return n.Name == node })
}

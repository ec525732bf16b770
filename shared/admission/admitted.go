package admission

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What rates count is kept in the ledger, which is written at each reservation: so it is
// bounded, and yet nothing is cut that a rate still counts, or a person could slip
// through a rate by keeping the fencer busy elsewhere (S14).
//
// Kept are the fences of the last 24 hours, as no rate has a longer period, and of each
// policy the newest 1,000, as no rate has a higher count: whoever finds 1,000 in its
// period holds, however many came before. So a rate that is set, raised or lengthened
// later counts as if it had stood all day. Only where more than 2,048 would be kept does
// it go by the rates as they are: first the fences go that no rate counted, and those that
// the rates of the asking fence's policies do not count now. A rate of those that is raised
// or lengthened within the day knows only of what is left then: it allows as many more as
// the person who raised it says, and no more. If that is not enough either, because other
// policies began thousands, the fence is held.
const (
	// longestPeriod is the longest of any maxRate.
	longestPeriod = 24 * time.Hour
	// highestCount is the highest of any maxRate.
	highestCount = 1000
	// maxAdmitted bounds the list, as its schema does.
	maxAdmitted = 2048
)

// admitted are the fences that rates may still count beside this one, the oldest first;
// full says that there is no room for it.
func admitted(f *api.NodeFence, l *api.FenceLedger, now time.Time) (kept []api.Reservation, full bool) {
	kept = slices.DeleteFunc(slices.Clone(l.Status.Admitted), func(a api.Reservation) bool {
		// A fence that is decided again is the same fence.
		return now.Sub(a.At.Time) >= longestPeriod || a.FenceUID == f.UID && a.FenceNumber == f.Status.FenceNumber
	})
	slices.SortStableFunc(kept, func(a, b api.Reservation) int { return a.At.Compare(b.At.Time) })
	kept = counting(kept, func(_ string, newer int, _ api.Reservation) bool { return newer < highestCount })
	if len(kept) >= maxAdmitted {
		kept = counting(kept, func(policy string, newer int, a api.Reservation) bool {
			if policy == "" {
				return false
			}
			for _, lim := range f.Status.Decision.Limits {
				if lim.Policy == policy {
					return lim.MaxRate != nil && newer < int(lim.MaxRate.Count) && now.Sub(a.At.Time) < lim.MaxRate.Period.Duration
				}
			}
			return newer < highestCount
		})
	}
	return kept, len(kept) >= maxAdmitted
}

// counting leaves those that are counted by any policy under which they began; by "" where
// no rate held for them. newer is how many of the policy began after it.
func counting(all []api.Reservation, is func(policy string, newer int, a api.Reservation) bool) []api.Reservation {
	newer := map[string]int{}
	for i := len(all) - 1; i >= 0; i-- {
		by := all[i].CountedBy
		if len(by) == 0 {
			by = []api.CountedBy{{}}
		}
		counts := false
		for _, b := range by {
			counts = is(b.Policy, newer[b.Policy], all[i]) || counts
			newer[b.Policy]++
		}
		if !counts {
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// begins notes for the rates that this fence begins.
func begins(f *api.NodeFence, r api.Reservation, l *api.FenceLedger, now time.Time) {
	// Thousands are kept, so only what a rate may ask for, which knows no domains.
	r.CountedBy = slices.DeleteFunc(slices.Clone(r.CountedBy), func(by api.CountedBy) bool { return by.TopologyKey != "" || !rated(f, by.Policy) })
	r.DeviceCallTimeout = nil // no rate asks for that
	kept, full := admitted(f, l, now)
	if full {
		l.Status.Admitted = kept // no rate counts this one: else it were held
		return
	}
	l.Status.Admitted = append(kept, r)
}

// roomToNote: a fence that a rate counts begins only if it can be noted for it.
func roomToNote(f *api.NodeFence, l *api.FenceLedger, now time.Time) *observed.Verdict {
	if !slices.ContainsFunc(f.Status.Decision.Limits, func(lim api.ScopedLimits) bool { return lim.MaxRate != nil }) {
		return nil
	}
	kept, full := admitted(f, l, now)
	if !full {
		return nil
	}
	next := longestPeriod - now.Sub(kept[0].At.Time)
	return refuse(api.TooManyInATime, fmt.Sprintf("%d fences of the last 24 hours are kept, which maxRate of other policies may count, and no more can be; the next in %s at most",
		len(kept), next.Round(time.Second)), min(next, facts.Resync))
}

func rated(f *api.NodeFence, policy string) bool {
	return slices.ContainsFunc(f.Status.Decision.Limits, func(lim api.ScopedLimits) bool { return lim.Policy == policy && lim.MaxRate != nil })
}

// unnamedInRate says which fence that a rate may count has a node that the census does not
// name: by which policies it counts is known by the node's labels alone.
func unnamedInRate(l *api.FenceLedger, f *api.NodeFence) string {
	if !slices.ContainsFunc(f.Status.Decision.Limits, func(lim api.ScopedLimits) bool { return lim.MaxRate != nil }) {
		return ""
	}
	for _, a := range l.Status.Admitted {
		if a.NodeName != f.Spec.NodeName && !slices.ContainsFunc(l.Status.Census.Nodes, func(n api.CountedNode) bool { return n.NodeName == a.NodeName }) {
			return "it does not name node " + a.NodeName + ", whose fence a rate may count"
		}
	}
	return ""
}

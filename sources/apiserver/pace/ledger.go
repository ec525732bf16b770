package pace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

// Ledger returns the turns that the ledger should hold, given those that it holds: every
// turn that is not over, lost ones included; nil if nothing is to change. A turn for which
// the ledger has no room is never sent.
func (p *Pace) Ledger(now time.Time, stands []api.NodeTurn) []api.NodeTurn {
	over := func(until time.Time) bool { return now.Sub(until) > ClocksDiffer }
	maps.DeleteFunc(p.shown, func(_ string, until time.Time) bool { return over(until) })
	all := slices.DeleteFunc(slices.Clone(stands), func(t api.NodeTurn) bool { return over(t.Until.Time) })
	at := map[string]int{}
	for i, t := range all {
		at[t.NodeName] = i
	}
	for _, node := range slices.SortedFunc(maps.Keys(p.shown), func(a, b string) int {
		return cmp.Or(p.shown[a].Compare(p.shown[b]), cmp.Compare(a, b))
	}) {
		t := api.NodeTurn{NodeName: node, Until: *leases.Stamp(p.shown[node])}
		if i, ok := at[node]; ok {
			all[i].Until.Time = later(all[i].Until.Time, t.Until.Time)
		} else if len(all) < api.MaxTurns {
			all = append(all, t)
		}
	}
	if equality.Semantic.DeepEqual(all, stands) {
		return nil
	}
	if all == nil {
		all = []api.NodeTurn{}
	}
	return all
}

// Written notes which turns the ledger holds.
func (p *Pace) Written(stands []api.NodeTurn) {
	until := map[string]time.Time{}
	for _, t := range stands {
		until[t.NodeName] = t.Until.Time
	}
	for i := range p.waiting {
		t := &p.waiting[i]
		t.known = t.known || !until[t.Node].Before(leases.Stamp(t.Until).Time)
	}
}

// Due takes the turns that begin now, as many as may be under way at a time. A late turn
// is dropped, and its node waits as before.
func (p *Pace) Due(now time.Time) (all []Turn) {
	for node, at := range p.asked {
		if now.Sub(at) > answersIn {
			delete(p.asked, node)
		}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(t Turn) bool {
		late := now.Sub(t.At) > Lateness
		switch {
		case late:
			if p.given[t.Node].Equal(t.At) {
				delete(p.given, t.Node)
			}
			return true
		case t.At.After(now) || !t.known || len(p.asked) >= atATime:
			return false
		}
		p.asked[t.Node] = now
		all = append(all, t)
		return true
	})
	return all
}

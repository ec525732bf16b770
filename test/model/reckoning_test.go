package model

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// reckoned is what there is to be counted in the API server's objects, counted without nodefence's code.
type reckoned struct {
	nodes, missing, unhealthy, open, slots, dry, waiting, held, allowed int
	// phases are the open fences by phase, and well the nodes with which nothing is wrong.
	phases map[string]int
	well   int
	// blind: the picture of the Leases is older than 30 s.
	blind bool
}

// withSlot are the phases from the reservation of a slot to the release of a node's work.
var withSlot = []api.Phase{api.Probing, api.Isolating, api.Fencing, api.Releasing}

// reckon counts what stands in the API server now under policy p, which selects all nodes.
func reckon(w *world) reckoned {
	r, silent, stale := reckoned{phases: map[string]int{}}, map[string]bool{}, map[string]bool{}
	ledger := read[api.FenceLedger](w, theLedger)
	for _, s := range ledger.Status.Leases.Still {
		silent[s.NodeName] = true
		if s.Stale {
			stale[s.NodeName] = true
		}
	}
	for _, o := range w.objects {
		name, is := strings.CutPrefix(o.path, nodes)
		if !is {
			continue
		}
		n, f := read[corev1.Node](w, o.path), read[api.NodeFence](w, fences+name)
		open := f != nil && f.Status.FenceNumber > 0 && f.Status.Phase != api.Finished
		r.nodes++
		if n.Status.Conditions[0].Status != corev1.ConditionTrue || silent[name] || open {
			r.unhealthy++
		}
		if n.Status.Conditions[0].Status == corev1.ConditionTrue && !stale[name] && !open {
			r.well++
		}
		if open {
			r.add(f)
		}
	}
	p := read[api.FencePolicy](w, policies+"p")
	if p != nil && p.Spec.MissingNodes != nil {
		for _, name := range p.Spec.MissingNodes.NodeNames {
			if w.at(nodes+name) == nil {
				r.nodes, r.missing, r.unhealthy = r.nodes+1, r.missing+1, r.unhealthy+1
			}
		}
	}
	r.blind = epoch.Add(w.now).Sub(ledger.Status.Leases.ObservedAt.Time) > 30*time.Second
	if p != nil {
		r.allowed = r.room(w, p, ledger, stale)
	}
	return r
}

// add counts an open fence.
func (r *reckoned) add(f *api.NodeFence) {
	r.open++
	r.phases[string(f.Status.Phase)]++
	switch {
	case slices.Contains(withSlot, f.Status.Phase):
		r.slots++
	case f.Status.Phase == api.Pending && f.Status.Decision.Settings.Mode != api.ModeDryRun:
		r.waiting++
	case f.Status.WouldBeginAt != nil:
		r.dry++
	}
	if f.Status.Phase == api.Pending || f.Status.Phase == api.Failed {
		r.held++
	}
}

// room is how many fences may begin: none while a brake is set or a storm goes on or cools down, else the free slots.
func (r *reckoned) room(w *world, p *api.FencePolicy, ledger *api.FenceLedger, stale map[string]bool) int {
	most, free := int(p.Spec.Limits.MaxUnhealthy.IntVal), int(*p.Spec.Limits.MaxConcurrent)-r.slots-r.dry
	braked := ledger.Spec.Stop || len(p.Spec.PauseRequests) > 0
	cutOff := len(stale) > 1 && 2*len(stale) > int(ledger.Status.Leases.Total)
	storm := max(1, r.unhealthy) > most || slices.ContainsFunc(ledger.Status.Storms, func(s api.Storm) bool {
		return s.CoolDownUntil == nil || s.CoolDownUntil.After(epoch.Add(w.now))
	})
	if braked || r.blind || cutOff || storm {
		return 0
	}
	return max(0, free)
}

package admission

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Figures are what is counted under one policy, and what may begin.
type Figures struct {
	// Selected and Unhealthy are numbers of nodes, as in the policy's status.
	Selected, Unhealthy int32
	// Slots are the reservations that limits.maxConcurrent counts, and Most is that limit.
	Slots, Most int32
	// Dry is how many dry runs would have a slot beside them, under a policy in mode DryRun.
	Dry int32
	// Waiting are the open fences that are to begin, and have no slot.
	Waiting int32
	// Allowed is how many fences may begin now. Why and Words say what holds all of them; both are empty if nothing
	// does.
	Allowed int32
	Why     api.Reason
	Words   string
}

// Current returns the ledger as a gate counts that is asked now: without the slots of fences that are released or over.
// The ledger that is written has these slots until the next gate writes. l stays as it is.
func Current(l *api.FenceLedger, c Picture, now time.Time) *api.FenceLedger {
	l = l.DeepCopy()
	rebuild(l, c, now)
	rebuildDryRuns(l, c, now)
	placeSlots(l, c)
	return l
}

// FiguresNow counts under each policy as a gate counts that is asked now.
func FiguresNow(all []api.FencePolicy, c Picture, l *api.FenceLedger, now time.Time) []Figures {
	l = Current(l, c, now)
	out := make([]Figures, len(all))
	for i := range all {
		out[i] = figuresOf(&all[i], all, c, l, now)
	}
	return out
}

func figuresOf(p *api.FencePolicy, all []api.FencePolicy, c Picture, l *api.FenceLedger, now time.Time) Figures {
	lim, st := policy.LimitsOf(p), api.FencePolicyStatus{}
	countSelected(lim, &st, c, l)
	rooms := roomUnder(p, &st, c, l, now)
	total := scopes(lim)[0]
	f := Figures{
		Selected: st.SelectedNodes, Unhealthy: st.UnhealthyNodes,
		Slots: int32(slotsIn(total, "", c, l)), Most: max(1, total.maxConcurrent), Waiting: waiting(total, c, l), Allowed: rooms.fences,
	}
	if p.Spec.Mode == api.ModeDryRun {
		f.Dry = int32(slotsIn(total, "", c, withDryRuns(l, c))) - f.Slots
	}
	shut := policy.Closed([]policy.Windows{{Policy: p.Name, Windows: p.Spec.PauseWindows}}, c.Zones, now)
	if may, why, words := mayFence(p, all, l, shut, rooms, now); !may {
		f.Allowed, f.Why, f.Words = 0, why, words
	}
	return f
}

// countSelected counts the nodes that a policy selects.
func countSelected(lim api.ScopedLimits, st *api.FencePolicyStatus, c Picture, l *api.FenceLedger) {
	st.SelectedNodes, st.UnhealthyNodes, st.OpenFences = 0, 0, 0
	bad, open := ailing(c, l), map[string]bool{}
	for i := range c.Fences {
		if f := &c.Fences[i]; f.Open() {
			open[f.Spec.NodeName] = true
		}
	}
	for _, n := range c.Nodes {
		if !isCounted(scopes(lim)[0], "", n) {
			continue
		}
		st.SelectedNodes++
		if n.Unhealthy || bad[n.Name] {
			st.UnhealthyNodes++
		}
		if open[n.Name] {
			st.OpenFences++
		}
	}
	st.HealthyNodes = st.SelectedNodes - st.UnhealthyNodes
}

// waiting is how many open fences of the scope's nodes are to begin, and have no slot. A dry fence never begins.
func waiting(s scope, c Picture, l *api.FenceLedger) (n int32) {
	for i := range c.Fences {
		f := &c.Fences[i]
		begins := f.CurrentPhase() == api.Pending || f.CurrentPhase() == api.Draining
		if f.Open() && begins && f.Status.Decision.Settings.Mode != api.ModeDryRun && isCounted(s, "", c.node(f.Spec.NodeName)) && ReservedAt(l, f) == nil {
			n++
		}
	}
	return n
}

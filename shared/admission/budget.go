package admission

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// budgets: every FenceBudget that selects the node has room for its fence. A
// dead node competes with the fences that run, because its own makes nothing
// worse; a healthy one must find room beside all that is unavailable.
func budgets(f *api.NodeFence, c Picture, l *api.FenceLedger, _ time.Time) *observed.Verdict {
	labels := c.labels(f.Spec.NodeName)
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if b.DeletionTimestamp != nil || !policy.Selects(b.Spec.Selector, labels) {
			continue
		}
		if b.NotUnderstood.Any() {
			return refuse(api.PolicyNotUnderstood, budgetWords(b), askStorm)
		}
		s := stateOf(b, f.Spec.NodeName, c, l)
		if s.fencing >= s.most {
			return refuse(api.BudgetExhausted, fmt.Sprintf("FenceBudget %s: %d of its %d nodes are being fenced, %s", b.Name, s.fencing, s.nodes, s.words), askConcurrent)
		}
		if s.healthy && s.unavailable >= s.room {
			return refuse(api.BudgetExhausted, fmt.Sprintf("FenceBudget %s: this node is healthy, and %d other of its %d nodes are unavailable, %s", b.Name, s.unavailable, s.nodes, s.words), askStorm)
		}
	}
	return nil
}

// setState is a budget's set, seen for one node of it, which is left out of
// fencing and unavailable.
type setState struct {
	nodes, fencing, unavailable int
	healthy                     bool
	// room is how many may be unavailable; most how many may be fenced at once. Under
	// minAvailable that is never less than one: else dead nodes were never served. Under
	// a maxUnavailable of 0 it is none.
	room, most int
	words      string
}

func stateOf(b *api.FenceBudget, node string, c Picture, l *api.FenceLedger) setState {
	var s setState
	lost, slots, chosen := stillIn(l.Status.Leases, c), map[string]bool{}, map[string]bool{}
	for _, r := range l.Status.Reservations {
		slots[r.NodeName] = true
	}
	for _, n := range c.Nodes {
		if n.Alike > 0 {
			if policy.Selects(b.Spec.Selector, n.Labels) {
				s.nodes += n.Alike
			}
			continue
		}
		lost[n.Name] = lost[n.Name] || n.Unhealthy
		if chosen[n.Name] = policy.Selects(b.Spec.Selector, n.Labels); chosen[n.Name] && n.Name == node {
			s.healthy = !lost[node]
		}
	}
	// A fence that only waits takes nothing: two that wait would wait for each other.
	for i := range c.Fences {
		if f := &c.Fences[i]; underWay(f, l) {
			lost[f.Spec.NodeName] = lost[f.Spec.NodeName] || !c.backBeforeItsTurn(f, node, l)
			chosen[f.Spec.NodeName] = chosen[f.Spec.NodeName] || chose(b, f, c, l)
		}
	}
	s.countBeside(node, chosen, lost, slots)
	s.room, s.words = roomOf(b, s.nodes)
	if s.most = s.room; b.Spec.MinAvailable != nil {
		s.most = max(1, s.room)
	}
	return s
}

// countBeside counts the nodes of the set, and those beside this one that are lost or have
// a slot.
func (s *setState) countBeside(node string, chosen, lost, slots map[string]bool) {
	for name, is := range chosen {
		if is {
			s.nodes++
		}
		if is && name != node && lost[name] {
			s.unavailable++
		}
		if is && name != node && slots[name] {
			s.fencing++
		}
	}
}

// roomOf is how many of so many nodes may be unavailable. What can't be read
// allows none, and the API server refuses it anyway.
func roomOf(b *api.FenceBudget, nodes int) (int, string) {
	if m := b.Spec.MinAvailable; m != nil {
		least, err := intstr.GetScaledValueFromIntOrPercent(m, nodes, true)
		if err != nil {
			return 0, "minAvailable can't be read"
		}
		return max(0, nodes-least), fmt.Sprintf("minAvailable is %s (%d)", m.String(), least)
	}
	m := b.Spec.MaxUnavailable
	if m == nil {
		return 0, "it sets no limit"
	}
	most, err := shareOf(*m, nodes)
	if err != nil {
		return 0, "maxUnavailable can't be read"
	}
	return most, fmt.Sprintf("maxUnavailable is %s (%d)", m.String(), most)
}

// The conditions of a FenceBudget.
const (
	accepted          = "Accepted"
	disruptionAllowed = "DisruptionAllowed"
)

// BudgetStatus is what a budget shows of its set.
func BudgetStatus(b *api.FenceBudget, c Picture, l *api.FenceLedger, now time.Time) api.FenceBudgetStatus {
	s := stateOf(b, "", c, l)
	st := *b.Status.DeepCopy()
	st.ObservedGeneration = b.Generation
	st.ExpectedNodes, st.AvailableNodes, st.FencingNodes = int32(s.nodes), int32(s.nodes-s.unavailable), int32(s.fencing)
	st.DisruptionsAllowed = int32(max(0, s.room-s.unavailable))
	say := func(typ string, ok bool, why api.Reason, msg string) {
		tell(&st.Conditions, b.Generation, now, typ, ok, why, msg)
	}
	err := policy.Misread(b.Spec.Selector)
	switch strange := budgetWords(b); {
	case strange != "":
		st.DisruptionsAllowed = 0
		say(accepted, false, api.PolicyNotUnderstood, strange)
		say(disruptionAllowed, false, api.PolicyNotUnderstood, strange)
		return st
	case err != nil:
		say(accepted, false, api.SelectorInvalid, fmt.Sprintf("spec.selector: %s; it counts as selecting every node until that is corrected", err))
	default:
		say(accepted, true, api.Understood, "every field was understood")
	}
	words := fmt.Sprintf("%d of %d nodes are unavailable, %s", s.unavailable, s.nodes, s.words)
	if st.DisruptionsAllowed > 0 {
		say(disruptionAllowed, true, api.SufficientNodes, words)
	} else {
		say(disruptionAllowed, false, api.BudgetExhausted, words)
	}
	return st
}

// backBeforeItsTurn: a fence waits for a slot again, its node is Ready and its Lease moves,
// and nothing was taken from it, or the asking node's name comes first, and it was taken from
// that one too. It takes nothing while it waits; two such fences would wait for each other under
// a budget of one.
func (c Picture) backBeforeItsTurn(f *api.NodeFence, asking string, l *api.FenceLedger) bool {
	if acts(f, l) || !c.has(f.Spec.NodeName) || c.node(f.Spec.NodeName).Unhealthy || f.Status.Release.StartedAt != nil {
		return false
	}
	cut := f.Status.Power.SwitchedByUs
	if !cut && !drained(&f.Status) {
		return true
	}
	if o := c.fence(asking); o == nil || !underWay(o, l) || asking >= f.Spec.NodeName {
		return false
	} else if !cut {
		return drained(&o.Status) || o.Status.Power.SwitchedByUs
	}
	at, seen := f.Status.Power.CutAt, l.Status.Leases.ObservedAt
	return at != nil && seen != nil && seen.Sub(at.Time) > longAgo
}

// longAgo: by then a node that was cut shows as not Ready, or its Lease as standing still.
const longAgo = time.Minute

func budgetWords(b *api.FenceBudget) string {
	return b.NotUnderstood.Words("FenceBudget " + b.Name)
}

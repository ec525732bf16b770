package model

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// watch sees every call, and the world as it really is. It knows the promises,
// and nothing of how they are kept.
type watch struct {
	limits []api.ScopedLimits
	// cutting are the nodes whose power was cut and whose work is not released yet.
	cutting map[string]bool
	// offs counts each machine's power cuts.
	offs map[string]int
	// broken is the first promise that was broken.
	broken string
}

func newWatch() watch { return watch{cutting: map[string]bool{}, offs: map[string]int{}} }

func (c watch) clone() watch {
	c.cutting, c.offs = maps.Clone(c.cutting), maps.Clone(c.offs)
	return c
}

func (c *watch) fault(format string, a ...any) {
	if c.broken == "" {
		c.broken = fmt.Sprintf(format, a...)
	}
}

// saw looks after each call.
func (c *watch) saw(w *world, r request) {
	if !r.writes() {
		return
	}
	if n, ok := strings.CutPrefix(r.path, machineRoom); ok {
		if string(r.body) == "Off" {
			c.offs[n]++
			c.cutting[n] = true
			c.limit(w, "machines are off at once before their work is released", c.cutting)
		}
		return
	}
	if !strings.HasPrefix(r.path, fences) && r.path != theLedger {
		return
	}
	for n := range c.cutting {
		if f := w.fence(n); f == nil || !f.CurrentPhase().HoldsSlot() {
			delete(c.cutting, n)
		}
	}
	c.limit(w, "slots are taken at once", c.slots(w))
}

// slots are the nodes that hold one: from reservation to release (S14).
func (c *watch) slots(w *world) map[string]bool {
	all, l := map[string]bool{}, w.ledger()
	for n := range w.machines {
		f := w.fence(n)
		if f == nil {
			continue
		}
		switch at := reserved(l, f); {
		case f.CurrentPhase().HoldsSlot():
			// A yes that has run out without a power cut leads to nothing: whoever
			// looks next sends it back (S17).
			all[n] = f.Status.Power.CutByUs || f.Status.Release.StartedAt != nil || live(w, f.Status.DecidedAt)
		case f.CurrentPhase() == api.Pending:
			all[n] = at != nil && live(w, at) && !at.Equal(f.Status.DecidedAt)
		}
	}
	maps.DeleteFunc(all, func(_ string, holds bool) bool { return !holds })
	return all
}

func live(w *world, at *api.Time) bool {
	return at != nil && epoch.Add(w.now).Sub(at.Time) <= fence.DecisionValidity
}

func reserved(l *api.FenceLedger, f *api.NodeFence) *api.Time {
	if l == nil {
		return nil
	}
	for _, r := range l.Status.Reservations {
		if r.FenceUID == f.UID && r.Generation == f.Spec.Generation && f.Status.Generation == f.Spec.Generation {
			return &r.At
		}
	}
	return nil
}

func (c *watch) limit(w *world, what string, held map[string]bool) {
	for _, lim := range c.limits {
		var in []string
		for n := range held {
			if fence.Selects(lim.Selector, labels(n)) {
				in = append(in, n)
			}
		}
		if len(in) > int(lim.MaxConcurrent) {
			slices.Sort(in)
			c.fault("%d %s, policy %s allows %d: %s", len(in), what, lim.Policy, lim.MaxConcurrent, strings.Join(in, ", "))
		}
	}
}

// view is what a process could know when it last read the ledger.
type view struct {
	// picture: the Leases' picture was too old to be used (S15).
	picture bool
	// storm: more nodes were unhealthy than allowed (S15); calm: the ledger said
	// of a storm that it is under way, or cools down.
	storm, calm bool
}

// asks looks at a process's call from both sides; done is after it.
func (v *view) asks(w *world, r request, node string) (done func()) {
	switch f := w.fence(node); {
	case r.path == theLedger && r.method == http.MethodGet:
		v.reads(w)
	case r.path == theLedger && f != nil:
		was := reserved(w.ledger(), f)
		return func() {
			if at := reserved(w.ledger(), f); at != nil && !at.Equal(was) {
				v.reserves(w, node)
			}
		}
	case f != nil && r.path == fences+node+"/status" && f.CurrentPhase() == api.Pending:
		return func() {
			if w.fence(node).Status.Phase == api.Isolating && v.calm {
				w.watch.fault("the fence of %s begins in a storm, or in its cool-down", node)
			}
		}
	}
	return func() {}
}

func (v *view) reads(w *world) {
	*v = view{storm: w.storm()}
	l := w.ledger()
	if l == nil {
		return
	}
	seen := l.Status.Leases.ObservedAt
	v.picture = seen == nil || epoch.Add(w.now).Sub(seen.Time) > fence.Resync
	for _, s := range l.Status.Storms {
		v.calm = v.calm || s.CoolDownUntil == nil || s.CoolDownUntil.After(epoch.Add(w.now+time.Second))
	}
}

func (v *view) reserves(w *world, node string) {
	if v.picture {
		w.watch.fault("%s is admitted on an old picture of the Leases", node)
	}
	if v.storm && w.storm() {
		w.watch.fault("%s is admitted in a storm", node)
	}
}

// storm: by what is so, more nodes are dead than some policy allows.
func (w *world) storm() bool {
	for _, lim := range w.watch.limits {
		dead := 0
		for n, m := range w.machines {
			if (!m.on || m.hung) && fence.Selects(lim.Selector, labels(n)) {
				dead++
			}
		}
		if lim.MaxUnhealthy != nil && dead > lim.MaxUnhealthy.IntValue() {
			return true
		}
	}
	return false
}

func labels(node string) map[string]string { return map[string]string{"name": node} }

// served: the node was fenced and is past its slot.
func (w *world) served(n string) bool {
	f := w.fence(n)
	return f != nil && w.watch.offs[n] > 0 && !f.CurrentPhase().HoldsSlot() && f.CurrentPhase() != api.Pending
}

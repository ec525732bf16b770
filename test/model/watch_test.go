package model

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// promise is one of those that the watch knows.
type promise string

const (
	budget   promise = "never more nodes between reservation and release than there is room for"
	reserved promise = "no Off without a reservation"
	claimed  promise = "at most one open claim for a node, and no device call without one"
	once     promise = "one death, one fence"
	healed   promise = "no Off for a node that healed before its fence came to the device"
	served   promise = "every dead node is served in the end"
)

// watch sees every call, and the world as it really is. It knows the promises, but not how they
// are kept.
type watch struct {
	room int
	// broken is the first promise that was broken, or, if only one is checked, that one; fault
	// says how.
	only, broken promise
	fault        string
	// calledOff is the node whose FenceRequest says that it was withdrawn before anything was done.
	calledOff string
}

func (c *watch) found(p promise, format string, a ...any) {
	if c.broken == "" && (c.only == "" || c.only == p) {
		c.broken, c.fault = p, fmt.Sprintf(format, a...)
	}
}

// called checks the world before each call to a device.
func (c *watch) called(w *world, m *machine, r request) {
	f := w.fence(m.node)
	call := api.CallRead
	if r.writes() {
		call = api.Call(r.body)
	}
	if f == nil || f.Status.Claim == nil || f.Status.Claim.Holder != r.by || f.Status.Claim.Call != call {
		c.found(claimed, "%s speaks with the device of %s and holds no claim for this %s", r.by, m.node, call)
	} else if until := f.Status.Claim.NotAfter; epoch.Add(w.now).Add(-time.Second).After(until.Time) {
		c.found(claimed, "%s speaks with the device of %s after its claim for this %s, which was until %s", r.by, m.node, call, until.Format(time.TimeOnly))
	}
	if r.method == http.MethodGet || string(r.body) != "Off" {
		return
	}
	m.offs++
	m.cut = true
	if f == nil || admission.ReservedAt(w.ledger(), f) == nil {
		c.found(reserved, "the power of %s is cut, and the ledger has no reservation for it", m.node)
	}
	if m.node == c.calledOff {
		c.found(withdrawn, "the power of %s is cut, and its FenceRequest says that it was withdrawn before that", m.node)
	}
	if m.died && !m.hung {
		c.found(healed, "the power of %s is cut, which is alive again", m.node)
	}
	c.count(w)
}

// wrote checks the world after each write to the API server; was is the record before it.
func (c *watch) wrote(w *world, r request, was *api.NodeFence) {
	node := nodeOf(r.path)
	c.answered(w, r)
	if node == "" && strings.TrimSuffix(r.path, "/status") != theLedger {
		return
	}
	for i := range w.machines {
		if m := &w.machines[i]; m.cut {
			f := w.fence(m.node)
			m.cut = f != nil && f.CurrentPhase().HoldsSlot()
		}
	}
	if node != "" && was != nil {
		c.claims(w, r, was, w.fence(node))
	}
	c.count(w)
}

// claims checks that an open claim is ended by its holder, or by its time.
func (c *watch) claims(w *world, r request, was, is *api.NodeFence) {
	old, now := was.Status.Claim, is.Status.Claim
	if old == nil || now != nil && *now == *old || old.Holder == r.by {
		return
	}
	until := old.NotAfter.Time
	if b := was.Status.Decision.Power(0); b != nil && old.Call != api.CallRead {
		until = until.Add(b.EffectDelay.Duration)
	}
	if epoch.Add(w.now).Add(time.Second).Before(until) {
		c.found(claimed, "%s takes the claim of %s on %s, which is open until %s", r.by, old.Holder, is.Name, until.Format(time.TimeOnly))
	}
}

// count is over the nodes that hold a slot by the ledger, by their record, or
// because their power is cut (S14).
func (c *watch) count(w *world) {
	var in []string
	for _, m := range w.machines {
		if m.cut || c.holds(w, w.fence(m.node)) {
			in = append(in, m.node)
		}
	}
	if len(in) > c.room {
		c.found(budget, "%s are between reservation and release at once, and there is room for %d", strings.Join(in, " and "), c.room)
	}
}

func (c *watch) holds(w *world, f *api.NodeFence) bool {
	if f == nil {
		return false
	}
	switch at := admission.ReservedAt(w.ledger(), f); {
	case f.CurrentPhase().HoldsSlot():
		// An admission that has run out without a power cut leads to nothing: the next look sends
		// the fence back (S17).
		return f.Status.Power.SwitchedByUs || f.Status.Release.StartedAt != nil || live(w, f.Status.DecidedAt)
	case f.CurrentPhase() == api.Pending && at != nil:
		return live(w, &metav1.MicroTime{Time: *at})
	}
	return false
}

func live(w *world, at *api.Time) bool {
	return at != nil && epoch.Add(w.now).Sub(at.Time) <= facts.DecisionValidity
}

// ended checks a schedule that has ended.
func (c *watch) ended(w *world) {
	for _, m := range w.machines {
		f := w.fence(m.node)
		switch {
		case m.died && m.offs == 0 && m.dead():
			c.found(served, "%s is dead and was not fenced", m.node)
		case m.offs > 1 || f != nil && f.Status.FenceNumber > 1 && w.asked(m.node) == nil:
			c.found(once, "%s died once, its power was cut %d times, and it is at fence number %d", m.node, m.offs, f.Status.FenceNumber)
		}
	}
}

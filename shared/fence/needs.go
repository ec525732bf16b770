package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Needed is what of the world the next Decide may use for a record. The Node is always
// needed. Whatever is not needed may stay at its zero value: neither the action nor what
// becomes of the fence depends on it. The loop's own part of Seen, what this invocation has
// done, is no look and not named here.
type Needed struct {
	// Lease is the node's; LeaseIfReady asks for it only where the Node is seen Ready.
	Lease, LeaseIfReady bool
	// Brakes are the ledger and the policies, this fence's slot, the node's failed Machine,
	// and since when the source has seen the Lease stand still.
	Brakes bool
	// Recount asks for all once more that was asked before the slot was reserved (S13, S14,
	// S15). It comes with Brakes.
	Recount bool
	// Deletion is whether the node's Machine is being deleted. Only the gate and power ask, who
	// have the right to: before access is cut, what the gate saw a moment ago counts.
	Deletion bool
	// Excluded is why a Node that is missing was left alone when it was last seen.
	Excluded bool
	// Dump is what is heard of the machine's memory dump.
	Dump bool
	// Draining is what of the node's work has still to leave it. The Node is looked at after it.
	Draining bool
	// Left is what of the node is still to be released. The Node is looked at after it.
	Left bool
	// Report is whether the report of a fence that ends is written.
	Report bool
	// Anew: power or access may be cut, or a Machine deleted, by what is seen next. So it is
	// looked at for that very decision, whatever was seen a moment ago (S17).
	Anew bool
}

// Needs says what of the world the next Decide may use for this record. Of the look only the
// loop's own part counts, which is known before.
func Needs(f *api.NodeFence, seen *observed.Look) Needed {
	begun, dump := f.Status.Begun(), facts.Kdump(&f.Status.Decision) != nil && !f.Status.Power.SwitchedByUs
	switch f.CurrentPhase() {
	case api.Pending:
		return Needed{Lease: true, Brakes: true, Deletion: !begun, Excluded: f.Status.Decision.Trigger.Missing(), Dump: dump}
	case api.Draining:
		return Needed{Draining: true, Lease: true, Brakes: true}
	case api.Probing:
		return Needed{Lease: true, Brakes: true, Deletion: !begun, Dump: dump}
	case api.Isolating:
		return needsToIsolate(f, seen, dump)
	case api.Fencing:
		return needsToFence(f, seen, begun, dump)
	case api.Releasing:
		p := f.Status.Proof
		return Needed{Left: true, Lease: true, Brakes: !begun || p != nil && !p.Type.Ages(), Dump: dump && facts.ByDump(f)}
	case api.PoweringOn, api.Restoring:
		return Needed{Lease: true}
	}
	return Needed{Lease: mayReturn(f), LeaseIfReady: true, Report: f.Status.Report != nil} // booting takes many looks
}

// mayReturn tells whether a refuted cut may send what recovers back to the gate: the refutation stands, or the next status of
// the kubelet may bring it.
func mayReturn(f *api.NodeFence) bool {
	c := f.Status.ProvenCut
	return f.Status.Refuted != nil || c != nil && c.HeartbeatSince != ""
}

func needsToIsolate(f *api.NodeFence, seen *observed.Look, dump bool) Needed {
	cut, proves := f.Status.MayCutAccess() || seen.NotMade(), dumpMayRelease(f)
	drains := f.Status.Decision.Settings.Drain.Timeout.Duration > 0 && (len(f.Status.Decision.Isolation()) > 0 || f.Status.Drain.Empty())
	return Needed{
		Lease:  seen.HandsOver || proves || drains || f.Status.Awaited != nil || facts.Early(f.Status.Decision.ResolvedPolicy) != nil,
		Brakes: true, Recount: cut, Anew: cut,
		Dump: dump && (proves || len(f.Status.Decision.Isolation()) > 0),
	}
}

func needsToFence(f *api.NodeFence, seen *observed.Look, begun, dump bool) Needed {
	off := maySwitchOff(f) || seen.HandsOver && f.Status.ReadsFirst() || seen.NotMade()
	stops := brakesStop(f) || seen.NotMade()
	return Needed{Lease: true, Brakes: stops, Recount: off, Anew: off, Deletion: stops && !begun, Dump: dump}
}

// LeaseOf tells whether the Lease is needed, the Node being as it was seen.
func (n Needed) LeaseOf(seen observed.Node) bool { return n.Lease || n.LeaseIfReady && seen.Ready() }

// RecountAfter tells whether the recount is needed, the brakes being as they were seen: where
// they stop everything, nothing is left to be counted for.
func (n Needed) RecountAfter(b observed.Brakes) bool { return n.Recount && !b.Stopped && !b.Gone }

// brakesStop tells whether a brake may stop anything of what comes next in Fencing: before
// the first Off, and before any further one (S25). While an Off is waited for there is
// nothing to stop. Brakes that were not looked at are on for every Off, so that a mistake
// here costs time and no machine.
func brakesStop(f *api.NodeFence) bool {
	st := &f.Status
	return !(st.Begun() && (st.Power.OffAt != nil || st.Awaited != nil))
}

// maySwitchOff tells whether what comes next in Fencing may be an Off, or the deletion of a
// Machine.
func maySwitchOff(f *api.NodeFence) bool {
	r := f.Status.Power.LastRead
	return f.Status.Decision.Trigger.OnlyMachine() || f.Status.Power.OffAt == nil && r != nil && r.State == api.PoweredOn
}

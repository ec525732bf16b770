package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A node that still lives may give its pods away before its machine is cut: see the policy's
// spec.drain.

// ToDrain: this fence drains its node as long as the node lives: its policy says so, a machine is
// about to be cut, and nothing was cut or released yet. Who confirms that the machine is off, or
// wants no drain, has none. One of a machine that is only read cuts nothing.
func (d *Facts) ToDrain() bool {
	s := d.Decision.Settings
	switch {
	case s.Drain.Timeout.Duration <= 0 || !s.Action.Device() || s.Mode == api.ModeDryRun:
		return false
	case d.Begun() || d.Record.CutOrReleased || d.MustNotSwitch() || d.ConfirmAsked():
		return false
	}
	return d.SkipsDrain() == nil
}

// Lives: the node is there, Ready, and its Lease is fresh: there is a kubelet that ends its pods.
func (d *Facts) Lives() bool {
	n := d.Seen.Node
	return n.Exists && n.UID == d.Decision.NodeUID && n.Ready() && d.LeaseFresh()
}

// Silent: the node has failed as any other does. It is not Ready, a condition of the policy has held
// for its time, and the Lease stands still. A short silence is none.
func (d *Facts) Silent() bool {
	due := ConditionsDue(d.Decision, d.Record)
	return !d.Seen.Node.Ready() && !due.IsZero() && !due.After(d.Now) && !d.LeaseFresh()
}

// DrainCutShort is how a drain ends before the node is empty or its time is over, and why; empty
// while it goes on.
func (d *Facts) DrainCutShort() (end api.DrainEnd, why string) {
	switch by := d.SkipsDrain(); {
	case by != nil && by.User != "":
		return api.DrainSkipped, by.User + " asks for the fence without a drain"
	case by != nil:
		return api.DrainSkipped, "source " + by.Source + " asks for the fence without a drain"
	case d.ConfirmAsked():
		return api.DrainSkipped, d.Requests.ConfirmOff.By + " says that the machine is off"
	case !d.ToDrain():
		return api.DrainSkipped, "policy " + d.Decision.Policy.Name + " drains this node no more"
	case d.Silent():
		return api.DrainSilent, "a condition of the policy holds and the Lease stands still: the node is fenced as one that failed"
	}
	return "", ""
}

// DrainOver: this fence has drained its node, however that ended.
func (d *Facts) DrainOver() bool { return d.Record.Drain != nil && d.Record.Drain.EndedAt != nil }

// DrainGoesOn: it has begun to, and not ended.
func (d *Facts) DrainGoesOn() bool { return d.Record.Drain != nil && d.Record.Drain.EndedAt == nil }

// DrainTook is how long the node was drained until now, without the time in which the fence waited
// at the gate.
func DrainTook(st *api.NodeFenceStatus, now time.Time) time.Duration {
	if st.Drain == nil {
		return 0
	}
	took := st.Drain.Spent.Duration
	if st.Phase == api.Draining && st.PhaseSince != nil {
		took += max(0, now.Sub(st.PhaseSince.Time))
	}
	return took
}

// DrainTimeUp: the policy's time for the drain is over. Where the API server's clock was set back,
// nobody knows how long ago it began, and so it is over (S30).
func (d *Facts) DrainTimeUp() bool {
	since := d.Record.PhaseSince
	unknown := d.Record.Phase == api.Draining && (since == nil || observed.Ahead(since.Time, d.Now))
	return unknown || DrainTook(d.Record, d.Now) >= d.Decision.Settings.Drain.Timeout.Duration
}

// DrainDue is how soon a drain is to be looked at again: when its time is over at the latest.
func (d *Facts) DrainDue() time.Duration {
	left := d.Decision.Settings.Drain.Timeout.Duration - DrainTook(d.Record, d.Now)
	return max(0, min(DrainPoll, left))
}

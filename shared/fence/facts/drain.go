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

// Silent: the node has failed as any other does. A condition of the policy on its Ready has held for
// that condition's own time, and the Lease stands still. A short silence is none, whatever else
// holds: that a problem has lasted says nothing of how long the kubelet is away.
func (d *Facts) Silent() bool { return !d.Seen.Node.Ready() && !d.LeaseFresh() && d.readyDue() }

// readyDue: the node is not Ready, and was not for as long as the policy asks.
func (d *Facts) readyDue() bool {
	only := api.NodeFenceStatus{}
	for _, e := range d.Record.Evidence {
		if e.Type == api.TriggerNodeCondition && e.Condition == "Ready" {
			only.Evidence = append(only.Evidence, e)
		}
	}
	due := ConditionsDue(d.Decision, &only)
	return !due.IsZero() && !due.After(d.Now)
}

// SilentNow is since when the node does not live, for the record: by our looks, or since its Lease
// is known to have missed two renewals. Only a fence that waits at the gate and drains asks.
func (d *Facts) SilentNow() *api.Time {
	was, still := d.Record.SilentSince, d.Record.Lease.StillSince
	switch {
	case d.Record.Phase != api.Pending || !d.ToDrain() || d.Lives():
		return nil
	case was != nil && !observed.Ahead(was.Time, d.Now):
		return was
	case d.Seen.Lease.Exists && still != nil && !d.LeaseFresh():
		return d.Stamp(still.Add(2 * d.Seen.Lease.Renewal))
	}
	return d.At(0)
}

// SilenceLeft is how long a node that does not live is still waited for before it is fenced without
// a drain: a kubelet that starts again is back sooner. One that has failed is not waited for.
func (d *Facts) SilenceLeft() time.Duration {
	n, since := d.Seen.Node, d.Record.SilentSince
	if since == nil || !n.Exists || n.UID != d.Decision.NodeUID || d.NeverReady() || d.readyDue() {
		return 0
	}
	return ShortSilence - d.Since(since)
}

// DrainCutShort is how a drain ends before the node is empty or its time is over, and why; empty
// while it goes on. A person's word that the machine is off only stops it, until it is believed.
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
		return api.DrainSilent, "not Ready for as long as the policy asks, and the Lease stands still: the node is fenced as one that failed"
	}
	return "", ""
}

// DrainOver: this fence has drained its node, however that ended.
func (d *Facts) DrainOver() bool { return d.Record.Drain != nil && d.Record.Drain.EndedAt != nil }

// DrainGoesOn: it has begun to, and not ended.
func (d *Facts) DrainGoesOn() bool { return d.Record.Drain != nil && d.Record.Drain.EndedAt == nil }

// DrainVoid: how the drain ended counts no more. The node lives, and had failed; or it lives, was empty,
// and somebody has taken our taint off; or it lives, and nobody wants it skipped any more (ToDrain); its
// time was over, and the policy gives more, or gives up now; or it was given up, and the policy would go
// on to the cut now.
func (d *Facts) DrainVoid() bool {
	if !d.DrainOver() || !d.ToDrain() || d.WithoutAccess() {
		return false
	}
	switch d.Record.Drain.Ended {
	case api.DrainSilent, api.DrainSkipped:
		return d.Lives()
	case api.DrainEmpty:
		return !d.Seen.Node.Taint && d.Lives()
	case api.DrainTimeIsOver:
		return d.givesUp() || DrainTook(d.Record, d.Now) < d.Decision.Settings.Drain.Timeout.Duration
	case api.DrainGivenUp:
		return !d.givesUp()
	}
	return false
}

func (d *Facts) givesUp() bool { return d.Decision.Settings.Drain.OnTimeout == api.DrainThenGiveUp }

// WithoutAccess: we have cut access for this fence, and nothing is moved from such a node. One whose
// drain was given up is given its access back.
func (d *Facts) WithoutAccess() bool { return d.OwesBack() && !d.Record.Drain.GivenUp() }

// Undrained: the node is to be drained before its machine is cut, and the gate has let the fence go on
// for what is so no more: the node had failed, somebody wanted no drain, or a person said that the
// machine is off.
func (d *Facts) Undrained() bool {
	switch r := d.Record.Drain; {
	case !d.ToDrain() || d.WithoutAccess():
		return false
	case d.Record.Phase == api.Isolating && len(d.Decision.Isolation()) == 0 && !r.Empty():
		return false // nothing is cut there, and the Lease is not looked at
	case r == nil:
		return d.Lives()
	case r.GivenUp():
		return !d.Silent()
	default:
		return r.EndedAt == nil || d.DrainVoid()
	}
}

// DrainTimeUp: the policy's time for the drain is over, and its pods were asked to leave meanwhile. A
// node that does not live at its end, or has nothing left to be asked, needs no round.
func (d *Facts) DrainTimeUp() bool {
	r, on := d.Record.Drain, d.Seen.Draining
	asked := r.Rounds > 0 && !d.Within(r.AskedAt, DrainPoll-1) || !d.Lives() || on != nil && len(on.Evict) == 0
	return asked && DrainTook(d.Record, d.Now) >= d.Decision.Settings.Drain.Timeout.Duration
}

// DrainDue is how soon a drain is to be looked at again: when its time is over at the latest.
func (d *Facts) DrainDue() time.Duration {
	left := d.Decision.Settings.Drain.Timeout.Duration - DrainTook(d.Record, d.Now)
	if left <= 0 {
		return DrainPoll
	}
	return min(DrainPoll, left)
}

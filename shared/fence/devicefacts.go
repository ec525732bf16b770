package fence

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Questions about the machine's own devices, and about what may still take effect there. None of
// them changes anything.

// binding is the machine's own device that is spoken with now; nil if none is bound.
func (d *decision) binding() *api.Binding { return d.dec.Power(d.st.Power.Level) }

// levels is how many the policy allows and the node has.
func (d *decision) levels() int {
	return min(max(1, int(d.dec.Settings.Power.MaxLevels)), max(1, len(d.dec.PowerLevels())))
}

// highestCut is where the undoing begins: in reverse (S25).
func (d *decision) highestCut() int32 {
	if len(d.st.Power.Cut) == 0 {
		return d.st.Power.Level
	}
	return slices.Max(d.st.Power.Cut)
}

// effectDelay is the longest of all devices: a call to any of them may still
// take effect (S8).
func (d *decision) effectDelay() time.Duration {
	var longest time.Duration
	for _, b := range d.dec.Devices {
		longest = max(longest, b.EffectDelay.Duration)
	}
	return longest
}

// offTimeout is how long after an accepted Off the machine may still read on.
func (d *decision) offTimeout() time.Duration {
	return d.dec.Settings.Power.OffTimeout.Duration
}

// mayBeLate: what was sent to the device last may still take effect (S8).
func (d *decision) mayBeLate() bool {
	u := d.st.Power.EffectUntil
	return u != nil && d.now.Before(u.Time)
}

func (d *decision) attempts() int32 { return d.dec.Settings.Power.Attempts }

func (d *decision) interval() time.Duration {
	return d.dec.Settings.Power.RetryInterval.Duration
}

// cuts is how many times this fence cut power, as the node's daily limit counts.
func (d *decision) cuts() int32 { return d.st.Power.Cuts }

// recentCuts counts this node's power cuts in the last 24 hours, this flow's
// restarts included (S26).
func (d *decision) recentCuts() int32 {
	n := int32(0)
	if at := d.st.Power.CutAt; at == nil || d.since(at) < cutsCount {
		n = d.cuts()
	}
	for _, p := range d.st.Past {
		if d.now.Sub(p.ClosedAt.Time) < cutsCount {
			n += p.Cuts
		}
	}
	return n
}

// braking: a brake is on that stops further Offs also after the first.
func (d *decision) braking() bool {
	b := d.seen.Brakes
	return !b.Looked || b.Stopped || b.Paused || b.Storm || b.Stricter || b.Gone || d.requests.Abort != nil || d.seen.Deleting
}

// otherCuts are the levels besides this one that were told to cut the power.
func (d *decision) otherCuts() []int32 {
	p := d.st.Power
	return slices.DeleteFunc(slices.Clone(p.Cut), func(l int32) bool { return l == p.Level })
}

// late is how late a call that has come back may still take effect. The declared
// longest delay is also for what carries calls out where nobody sees it: a pod that
// was not seen to end. It is waited for in full, unless this call was seen to end and
// came back well, and none before it is on its way (S8, S10).
func (d *decision) late(claim *api.Claim, c *CallResult) time.Duration {
	longest := d.effectDelay()
	if c.Late == nil || c.Err != "" || !claim.NoEarlierEffect {
		return longest
	}
	return min(*c.Late, longest)
}

// outOfServiceStays: the taint has still to go. That it is not seen is not enough: the
// batch of an invocation that stood still may be about to place it (S23).
func (d *decision) outOfServiceStays() bool {
	mine := d.seen.Node.Exists && d.seen.Node.UID == d.dec.NodeUID
	return mine && d.st.Placed.OutOfService && !d.seen.Cleared
}

// CutOnly: nothing switches this node's machine, and what stands in for that is a
// storage device whose cut must be seen. Then exactly the pods all of whose writable
// volumes it covers are released, pod by pod (S1, S24).
func CutOnly(dec *api.Decision) bool {
	return dec.Power(0) == nil && dec.Settings.Action.Device() && !dec.Trigger.Missing() && slices.ContainsFunc(dec.Isolation(), proves)
}

// lastCut: this machine's power was cut as often as a day allows, and the policy says
// that it stays off from there (CloudStack's recovery attempts, exceeded).
func (d *decision) lastCut() bool {
	limit := d.dec.Settings.PerNode
	return limit.OnLast != api.OnLastHold && d.recentCuts() >= limit.CutsPerDay
}

// pause comes after so many tries that did nothing, where tries never end.
func (d *decision) pause(tries int32) time.Duration {
	wait := d.interval()
	for i := int32(0); i < tries && wait < SlowRetry; i++ {
		wait *= 2
	}
	return min(wait, SlowRetry)
}

func (d *decision) lockedOut(b *api.Binding) (time.Time, bool) {
	if b == nil {
		return time.Time{}, false
	}
	for _, r := range d.st.Power.Denied {
		if retry := d.st.Answer(api.AskedRetry); d.retryAsked() || retry != nil && retry.AnsweredAt.After(r.At.Time) {
			continue // who asks for it has mended something
		}
		if until := r.At.Add(deniedPause); r.Device == b.Words() && r.Count >= deniedTries && d.now.Before(until) {
			return until, true
		}
	}
	return time.Time{}, false
}

// lockout is until when the machine's own device is left alone; false if it need not be.
func (d *decision) lockout() (time.Time, bool) { return d.lockedOut(d.binding()) }

// dispensable: a device of the isolation refuses the account, and need not be cut. Where
// it must be, the fence waits for it.
func (d *decision) dispensable(i int) bool {
	b := d.dec.Isolation()[i]
	_, locked := d.lockedOut(&b)
	return locked && !b.Must
}

// owesPowerOn: we cut it, and nothing wants it to stay off (S12). What was left off for
// its number of cuts stays so until a person wants it back, also when those cuts are
// old and count no more.
func (d *decision) owesPowerOn() bool {
	return d.st.Power.SwitchedByUs && d.st.Phase != api.Fenced && d.staysOff() == ""
}

// A device may lock the account of who comes with a wrong password too often. After this
// many refusals in a row it is asked again only so often, over all tries, restarts and
// fences of the node; a person's retry is asked for at once. One rule holds for the machine's
// own devices and for those of the isolation.
const (
	deniedTries = 3
	deniedPause = 5 * time.Minute
)

// staysOff says why a machine that we cut is not switched on again, if it is not.
func (d *decision) staysOff() string {
	switch {
	case d.dec.Settings.Action != api.ActionReboot:
		return "the policy's action is " + string(d.dec.Settings.Action)
	case d.dec.Power(0) != nil && d.dec.Power(0).LeaveOff:
		return "its configuration has no method that switches it on"
	case d.lastCut():
		return fmt.Sprintf("its power was cut %d times in 24 hours, and limits.perNode.cutsPerDay is %d: it stays off until a person switches it on, or asks for it (spec.requests.retry)",
			d.recentCuts(), d.dec.Settings.PerNode.CutsPerDay)
	}
	return ""
}

package facts

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Questions about the machine's own devices, and about what may still take effect there. None of
// them changes anything.

// Binding is the machine's own device that is spoken with now; nil if none is bound.
func (d *Facts) Binding() *api.Binding { return d.Decision.Power(d.Record.Power.Level) }

// SpokenWith: this device is that of the level that is spoken with now. Another power device is
// only read, before a person's word counts.
func (d *Facts) SpokenWith(b *api.Binding) bool {
	now := d.Binding()
	return now != nil && now.Name == b.Name
}

// Levels is how many the policy allows and the node has.
func (d *Facts) Levels() int {
	return min(max(1, int(d.Decision.Settings.Power.MaxLevels)), max(1, len(d.Decision.PowerLevels())))
}

// HighestCut is where the undoing begins: in reverse (S25).
func (d *Facts) HighestCut() int32 {
	if len(d.Record.Power.Cut) == 0 {
		return d.Record.Power.Level
	}
	return slices.Max(d.Record.Power.Cut)
}

// EffectDelay is the longest of all devices: a call to any of them may still
// take effect (S8).
func (d *Facts) EffectDelay() time.Duration {
	var longest time.Duration
	for _, b := range d.Decision.Devices {
		longest = max(longest, b.EffectDelay.Duration)
	}
	return longest
}

// PowerDue is until when power is not cut, because the node must be isolated for some time
// before (isolation.powerDelay). It is zero where nothing is waited for: power was cut before, a
// person says that the machine is off, no power is to be cut, nothing is done under the policy, or there is no Node to be isolated.
func (d *Facts) PowerDue() time.Time {
	at, dec := d.Record.Placed.IsolatedAt, d.Decision
	if at == nil || dec.Settings.Mode == api.ModeDryRun || d.Begun() || d.ConfirmAsked() || d.MustNotSwitch() || d.Missing() || !dec.Settings.Action.Device() || CutOnly(dec) {
		return time.Time{}
	}
	return at.Add(dec.Settings.Isolation.PowerDelay.Duration)
}

// OffTimeout is how long after the claim of an Off the machine may still read on: the policy's
// time, and what the Off and one read after it may take longer than usual. With less, a slow
// device's machine would get another Off while the first one takes effect.
func (d *Facts) OffTimeout() time.Duration {
	return d.Decision.Settings.Power.OffTimeout.Duration + 2*api.LongerCalls(d.Decision.CallLimit())
}

// MayBeLate: what was sent to the device last may still take effect (S8).
func (d *Facts) MayBeLate() bool {
	u := d.Record.Power.EffectUntil
	return u != nil && d.Now.Before(u.Time)
}

// Attempts is how often one step of a device is tried.
func (d *Facts) Attempts() int32 { return d.Decision.Settings.Power.Attempts }

// Interval is the time between two tries of a step.
func (d *Facts) Interval() time.Duration {
	return d.Decision.Settings.Power.RetryInterval.Duration
}

// Cuts is how many times this fence cut power, as the node's daily limit counts.
func (d *Facts) Cuts() int32 { return d.Record.Power.Cuts }

// RecentCuts counts this node's power cuts in the last 24 hours, this flow's
// restarts included (S26).
func (d *Facts) RecentCuts() int32 {
	n := int32(0)
	if at := d.Record.Power.CutAt; at == nil || d.Since(at) < CutsCount {
		n = d.Cuts()
	}
	for _, p := range d.Record.Past {
		if d.Now.Sub(p.ClosedAt.Time) < CutsCount {
			n += p.Cuts
		}
	}
	return n
}

// Braking: a brake is on that stops further Offs also after the first.
func (d *Facts) Braking() bool {
	b := d.Seen.Brakes
	return !b.Looked || b.Stopped || b.Paused || b.Storm || b.Stricter || b.Gone || d.Requests.Abort != nil || d.Seen.Deleting
}

// OtherCuts are the levels besides this one that were told to cut the power.
func (d *Facts) OtherCuts() []int32 {
	p := d.Record.Power
	return slices.DeleteFunc(slices.Clone(p.Cut), func(l int32) bool { return l == p.Level })
}

// Late is how late a call that has come back may still take effect. The declared
// longest delay is also for what carries calls out where nobody sees it: a pod that
// was not seen to end. It is waited for in full, unless this call was seen to end and
// came back well, and none before it is on its way (S8, S10).
func (d *Facts) Late(claim *api.Claim, c *observed.CallResult) time.Duration {
	longest := d.EffectDelay()
	if c.Late == nil || c.Err != "" || !claim.NoEarlierEffect {
		return longest
	}
	return min(*c.Late, longest)
}

// EffectMayEnd is until when a device may take effect while a call to it is under way that takes
// limit at most. was is what was known before, and stays if it is later (S8). The record has room
// for one end. A call that comes back at once ends EffectDelay after now. If was is later than that,
// the devices that were bound then were slower. Then the end is later than the one of this call
// alone, by which EffectEnds sees that it must not bring it forward.
func (d *Facts) EffectMayEnd(was *api.Time, limit time.Duration) *api.Time {
	own := limit + d.EffectDelay()
	switch {
	case was == nil || !was.After(d.Now.Add(d.EffectDelay())):
		return d.At(own)
	case was.After(d.At(own).Time):
		return was
	}
	return d.At(own + time.Microsecond)
}

// EffectEnds is until when a device may take effect, once a call to it has come back. was is what
// was known before: something that was sent earlier, and lasts longer than this call could, is
// not over with it (S8). The devices that were bound then may have been slower.
func (d *Facts) EffectEnds(was *api.Time, claim *api.Claim, c *observed.CallResult) *api.Time {
	until, own := d.At(d.Late(claim, c)), claim.NotAfter.Add(d.EffectDelay())
	if was != nil && was.After(own) && was.After(until.Time) {
		return was
	}
	return until
}

// OutOfServiceStays: the taint has still to go. That it is not seen is not enough: the
// batch of an invocation that stood still may be about to place it (S23).
func (d *Facts) OutOfServiceStays() bool {
	mine := d.Seen.Node.Exists && d.Seen.Node.UID == d.Decision.NodeUID
	return mine && d.Record.Placed.OutOfService && !d.Seen.Cleared
}

// CutOnly: nothing switches this node's machine, and what stands in for that is a
// storage device whose cut must be seen. Then exactly the pods all of whose writable
// volumes it covers are released, pod by pod (S1, S24).
func CutOnly(dec *api.Decision) bool {
	return dec.Power(0) == nil && dec.Settings.Action.Device() && !dec.Trigger.Missing() && slices.ContainsFunc(dec.Isolation(), Proves)
}

// lastCut: this machine's power was cut as often as a day allows, and the policy says
// that it stays off from there (CloudStack's recovery attempts, exceeded).
func (d *Facts) lastCut() bool {
	limit := d.Decision.Settings.PerNode
	return limit.OnLast != api.OnLastHold && d.RecentCuts() >= limit.CutsPerDay
}

// Pause comes after so many tries that did nothing, where tries never end.
func (d *Facts) Pause(tries int32) time.Duration {
	wait := d.Interval()
	for i := int32(0); i < tries && wait < SlowRetry; i++ {
		wait *= 2
	}
	return min(wait, SlowRetry)
}

// LockedOut tells whether the device has refused the account so often that it is left alone,
// and until when.
func (d *Facts) LockedOut(b *api.Binding) (time.Time, bool) {
	if b == nil {
		return time.Time{}, false
	}
	for _, r := range d.Record.Power.Denied {
		if retry := d.Record.Answer(api.AskedRetry); d.RetryAsked() || retry != nil && retry.AnsweredAt.After(r.At.Time) {
			continue // who asks for it has mended something
		}
		if until := r.At.Add(DeniedPause); r.Device == b.Words() && r.Count >= DeniedTries && d.Now.Before(until) {
			return until, true
		}
	}
	return time.Time{}, false
}

// Lockout is until when the machine's own device is left alone; false if it need not be.
func (d *Facts) Lockout() (time.Time, bool) { return d.LockedOut(d.Binding()) }

// Dispensable: a device of the isolation refuses the account, and need not be cut. Where
// it must be, the fence waits for it.
func (d *Facts) Dispensable(i int) bool {
	b := d.Decision.Isolation()[i]
	_, locked := d.LockedOut(&b)
	return locked && !b.Must
}

// RebootBegun: the program that asks for this fence had begun a reboot of the machine, and is gone.
func (d *Facts) RebootBegun() bool {
	b := d.Decision.Power(0)
	return b != nil && b.Adopted != nil && b.Adopted.RebootBegun
}

// TakesOver: such a reboot is not over, and the machine is proven off. Its Off counts as ours (S12), so that the
// machine is on in the end. Nobody can tell whether an administrator has switched it off meanwhile.
func (d *Facts) TakesOver() bool {
	return d.RebootBegun() && !d.Record.Power.RebootOver && d.Record.Phase == api.Releasing
}

// OwesPowerOn: we cut it, or have taken that over, and nothing wants it to stay off (S12). What was left off for
// its number of cuts stays so until a person wants it back, also when those cuts are
// old and count no more.
func (d *Facts) OwesPowerOn() bool {
	return (d.Record.Power.SwitchedByUs || d.TakesOver()) && d.Record.Phase != api.Fenced && d.StaysOff() == ""
}

// A device may lock the account of who comes with a wrong password too often. After this
// many refusals in a row it is asked again only so often, over all tries, restarts and
// fences of the node; a person's retry is asked for at once. One rule holds for the machine's
// own devices and for those of the isolation.
const (
	DeniedTries = 3
	DeniedPause = 5 * time.Minute
)

// StaysOff says why a machine that we cut is not switched on again, if it is not.
func (d *Facts) StaysOff() string {
	switch {
	case d.Decision.Settings.Action != api.ActionReboot:
		return "the policy's action is " + string(d.Decision.Settings.Action)
	case d.Decision.Power(0) != nil && d.Decision.Power(0).LeaveOff:
		return "its configuration has no method that switches it on"
	case d.lastCut():
		return fmt.Sprintf("its power was cut %d times in 24 hours, and limits.perNode.cutsPerDay is %d: it stays off until a person switches it on, or asks for it (spec.requests.retry)",
			d.RecentCuts(), d.Decision.Settings.PerNode.CutsPerDay)
	}
	return ""
}

// AnotherLevel: there is one that was not tried in this pass. The word of a
// person who ended the fence stops the climb: another level is another Off (S25).
func (d *Facts) AnotherLevel() bool {
	return int(d.Record.Power.Level)+1 < d.Levels() && d.Decision.Power(0) != nil && !d.Seen.Deleting && d.Requests.Abort == nil
}

// RefusedOften says why such a device is left alone.
var RefusedOften = fmt.Sprintf("the device refused the account %d times", DeniedTries)

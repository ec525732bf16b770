package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Opening is the status with which a node's next fence opens. To write it is what opens
// the fence, in one step: a record that has none is nothing, whoever made it, and one
// that is closed stays closed until this is written (S18). Whoever dies before it has
// opened nothing; the node is unhealthy still, and the source says so again (S19).
func Opening(f *api.NodeFence, dec api.Decision, now time.Time) api.NodeFenceStatus {
	d := &decision{dec: &dec, uid: string(f.UID), st: copied(&f.Status), now: now}
	d.st.FenceNumber++
	d.begin()
	d.st.Decision, d.st.ObservedGeneration = dec, f.Generation
	return d.st
}

// copied is a status that may be changed. What was decided is shared: nothing here
// writes it.
func copied(st *api.NodeFenceStatus) api.NodeFenceStatus {
	rest := *st
	rest.Decision = api.Decision{}
	rest = *rest.DeepCopy()
	rest.Decision = st.Decision
	return rest
}

// open begins a fence of which only number and decision are written. It also opens one
// for a record that is deleted while a gate was about to open it: that ends by itself,
// and takes the finalizer off (S27).
func (d *decision) open() {
	switch left := d.seen.Deleting && d.seen.Finalizer; {
	case left && (d.st.FenceNumber == 0 || d.st.Phase == api.Finished):
		d.st.FenceNumber++
		d.begin()
	case d.st.Phase == "":
		d.begin()
	}
}

// begin starts the status of this number anew; what was closed goes into the past. What
// of an earlier fence may still take effect at the device is carried over (S8).
func (d *decision) begin() {
	old, cuts := d.st, d.cuts()
	if old.OpenedAt != nil {
		closed := d.time()
		if old.PhaseSince != nil {
			closed = *old.PhaseSince
		}
		old.Past = append(old.Past, api.PastFence{
			FenceNumber: old.FenceNumber - 1, OpenedAt: *old.OpenedAt, ClosedAt: closed,
			Outcome: old.Outcome, Cuts: cuts, AskedBy: old.Decision.PastAskedBy(),
		})
		old.Past = d.kept(old.Past)
	}
	d.st = api.NodeFenceStatus{
		MinReaderVersion: api.SchemaPlain, FenceNumber: old.FenceNumber, Decision: old.Decision, ObservedGeneration: old.ObservedGeneration,
		OpenedAt: d.at(0),
		Claim:    old.Claim, Lease: old.Lease, Past: old.Past,
		Power:       api.PowerRecord{DeviceRecord: api.DeviceRecord{EffectUntil: old.Power.EffectUntil}, Denied: old.Power.Denied},
		Transitions: old.Transitions,
	}
	if d.dec.Policy.Name == "" {
		d.opens("to be deleted: no fence was decided on")
		return
	}
	d.opens(why(d.dec) + ", " + DecidingPolicy(d.dec.ResolvedPolicy))
}

// kept are the last fences, and those before them whose cuts count still: fences that
// end without a cut must not have a node's limit forgotten (S26).
func (d *decision) kept(past []api.PastFence) []api.PastFence {
	spare, newest, i := len(past)-maxPast, len(past)-1, -1
	past = slices.DeleteFunc(past, func(p api.PastFence) bool {
		if i++; i == newest || spare <= 0 || p.Cuts > 0 && d.now.Sub(p.ClosedAt.Time) < cutsCount {
			return false // when the newest ended says which requests are about it
		}
		spare--
		return true
	})
	return past[max(0, len(past)-mostPast):] // more than any limit lets a day have
}

// why a fence opened, in words.
func why(dec *api.Decision) string {
	t := dec.Trigger
	since := " since " + t.Since.UTC().Format(time.RFC3339)
	switch by := dec.Asker(); {
	case t.Asked() && by != nil:
		return asker(*by)
	case t.NodeCondition != nil:
		return t.NodeCondition.Type + "=" + t.NodeCondition.Status + since
	case t.Suspicion():
		return "its Lease stands still" + since
	case t.Startup():
		return "it was never Ready" + since
	case t.Reason != "":
		return t.Reason + ", seen" + since
	}
	return string(t.Type) + since
}

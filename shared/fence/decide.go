package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// Decide is the whole automaton. It returns what the record becomes, which is
// to be saved before the action is carried out, and the action.
func Decide(f *api.NodeFence, seen Seen, now time.Time) (api.NodeFenceStatus, Action) {
	if Foreign(f.Status) {
		return f.Status, None // S21
	}
	if !f.Open() && f.Status.FenceNumber == 0 {
		return f.Status, None // nothing was ever decided of this node
	}
	d := &decision{dec: effective(f), uid: string(f.UID), st: copied(&f.Status), seen: seen, now: now}
	if d.callElsewhere() {
		return f.Status, None // untouched: whoever holds the call must be able to save its end
	}
	d.st.ObservedGeneration = f.Generation
	d.open()
	d.hear(f.Spec.Requests)
	d.unscheduled()
	d.noteLease()
	d.noteConditions()
	d.st.CutOrReleased = d.st.CutOrReleased || d.begun()
	d.noteCall()
	d.lostCall()
	d.noteChecks()
	d.noteDump()
	d.noteWords()
	act := d.byPhase().act
	d.noteRelease(act)
	d.describe()
	return d.st, act
}

// Foreign tells whether a record was written by a nodefence that this one does
// not understand: it leads to no action, and an alert (S21).
func Foreign(st api.NodeFenceStatus) bool {
	return !st.Phase.Known() || st.MinReaderVersion > api.Schema
}

// byPhase is the table of the automaton: one row a phase.
func (d *decision) byPhase() outcome {
	switch d.st.Phase {
	case api.Pending:
		return d.pending()
	case api.Isolating:
		return d.isolating()
	case api.Fencing:
		return d.fencing()
	case api.Releasing:
		return d.releasing()
	case api.PoweringOn:
		return d.poweringOn()
	case api.Restoring:
		return d.restoring()
	case api.Recovering:
		return d.recovering()
	case api.Fenced:
		return d.fenced()
	case api.Failed:
		return d.failed()
	}
	return settled // Finished
}

// decision is one call of Decide.
type decision struct {
	// requests are people's requests about this fence, dec is what the gate decided, as it
	// counts for this fence.
	requests api.Requests
	dec      *api.Decision
	uid      string
	st       api.NodeFenceStatus
	seen     Seen
	now      time.Time
	// callDevice is the device of the isolation that this invocation's call was for.
	callDevice string
	// refused: the device said no to the Off that this invocation sent.
	refused bool
	// lost: nobody reported the end of a call to the machine's own device.
	lost bool
	// callEnd is the end of this invocation's call to the machine's own device, if it
	// counts: its claim stood still.
	callEnd *CallResult
}

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
		Power:       api.PowerRecord{EffectUntil: old.Power.EffectUntil, Denied: old.Power.Denied},
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

// noteLease keeps since when the Lease has not moved, as observed (S30).
func (d *decision) noteLease() {
	l := d.seen.Lease
	if !l.Exists {
		return
	}
	if l.Renewed == d.st.Lease.Renewed && d.st.Lease.StillSince != nil {
		// The source may have watched for longer than we.
		if !l.StillSince.IsZero() && l.StillSince.Before(d.st.Lease.StillSince.Time) {
			d.st.Lease.StillSince = d.stamp(l.StillSince)
		}
		return
	}
	d.st.Lease = api.LeaseRecord{Renewed: l.Renewed, StillSince: d.at(0)}
	if !l.StillSince.IsZero() {
		d.st.Lease.StillSince = d.stamp(l.StillSince)
	}
}

// leaseFresh: the Lease has not yet missed two renewals. No Lease is not fresh.
func (d *decision) leaseFresh() bool {
	s := d.st.Lease.StillSince
	return d.seen.Lease.Exists && s != nil && d.now.Sub(s.Time) < 2*d.seen.Lease.Renewal
}

// leaseGone: a Lease that was seen to move lately is there no more, so that nobody can see
// whether it would still move. A kubelet that lives makes it anew.
func (d *decision) leaseGone() bool {
	s := d.st.Lease.StillSince
	return !d.seen.Lease.Exists && s != nil && d.since(s) < 2*slowestRenewal
}

// leaseMovedSince: the Lease was seen to move after t, a sign of life (S3).
func (d *decision) leaseMovedSince(t api.Time) bool {
	s := d.st.Lease.StillSince
	return d.seen.Lease.Exists && s != nil && s.After(t.Time)
}

// noteConditions keeps since when, by our looks, each condition of the policy
// holds. The node's own times are marks that tell one spell from the next: they
// come from other machines' clocks (S30).
func (d *decision) noteConditions() {
	var now []api.Evidence
	for _, want := range d.dec.Settings.UnhealthyConditions {
		for _, c := range d.seen.Node.Conditions {
			if c.Type == want.Type && c.Status == want.Status && !d.ourMark(c) {
				now = append(now, d.spell(api.Evidence{Type: api.TriggerNodeCondition, Condition: c.Type, Status: c.Status, Mark: *d.stamp(c.Since)}))
			}
		}
	}
	if d.neverReady() || d.noNode() {
		now = append(now, d.spell(d.dec.Trigger.Spell()))
	}
	d.st.Evidence = append(now, d.machineTrouble()...)
}

// spell is evidence with since when it is seen.
func (d *decision) spell(e api.Evidence) api.Evidence {
	e.Since = d.time()
	for _, was := range d.st.Evidence {
		if was.Same(e) {
			e.Since = was.Since
		}
	}
	return e
}

// noteCall records what this invocation's device call gave, and ends its claim.
func (d *decision) noteCall() {
	c := d.seen.Call
	if c == nil || d.st.Claim == nil || d.st.Claim.Holder != d.seen.Me {
		return // a late result of a call whose claim is gone counts for nothing
	}
	claim := d.st.Claim
	d.st.Claim = nil
	c.Err, c.Identity, c.MissingSupply = clip.Message(c.Err), clip.Message(c.Identity), clip.Message(c.MissingSupply) // a record that does not fit its schema could not be saved any more
	d.noteJobs(c)
	switch b := d.dec.Device(claim.Device); {
	case b == nil:
		return // nor does that of a device which is bound no more; what it did may take effect as long as was saved (S8)
	case b.Role != api.RolePower:
		d.noteIsolation(claim, b, c)
		return
	}
	d.callEnd = c
	d.st.Power.LastError = c.Err
	d.noteDenied(d.binding(), c)
	switch c.Call {
	case api.CallRead:
		if c.Power != "Off" {
			d.st.Power.FirstOff = nil // two reads with a doubt between them are not two in a row (S2)
		}
		d.st.Power.LastRead = &api.Read{State: api.StateOf(c.Power), Identity: c.Identity, MissingSupply: c.MissingSupply, At: *d.stamp(c.At)}
	case api.CallOff, api.CallOn:
		if c.Call == api.CallOff {
			d.st.Power.OffError, d.refused = c.Err, c.Refused
		}
		d.st.Power.EffectUntil = d.at(d.late(claim, c))
		d.st.Power.LastRead = nil // S9: read before anything else
	}
}

// justRead tells whether this invocation has read the device.
func (d *decision) justRead() bool {
	return d.seen.Call != nil && d.seen.Call.Call == api.CallRead && d.st.Claim == nil && d.st.Power.LastRead != nil &&
		d.st.Power.LastRead.At.Time.Equal(d.stamp(d.seen.Call.At).Time)
}

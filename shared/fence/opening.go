package fence

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Opening is the status with which a node's next fence opens. To write it is what opens
// the fence, in one step: a record that has none is nothing, whoever made it, and one
// that is closed stays closed until this is written (S18). Whoever dies before it has
// opened nothing; the node is unhealthy still, and the source says so again (S19).
func Opening(f *api.NodeFence, dec api.Decision, now time.Time) api.NodeFenceStatus {
	d := &decision{Facts: facts.Facts{Decision: &dec, UID: string(f.UID), Record: copied(&f.Status), Now: now}}
	d.Record.FenceNumber++
	d.begin()
	asked := dec.Reports
	dec.Reports = f.Status.Decision.Reports // used up by the fence before: they ask for no further fence
	dec.UseReports(asked)
	d.Record.Decision, d.Record.ObservedGeneration = dec, f.Generation
	return *d.Record
}

// copied is a status that may be changed. What was decided is shared: nothing here
// writes it.
func copied(st *api.NodeFenceStatus) *api.NodeFenceStatus {
	undecided := *st
	undecided.Decision = api.Decision{}
	rest := undecided.DeepCopy()
	rest.Decision = st.Decision
	return rest
}

// open begins a fence of which only number and decision are written. It also opens one
// for a record that is deleted while a gate was about to open it: that ends by itself,
// and takes the finalizer off (S27).
func (d *decision) open() {
	switch left := d.Seen.Deleting && d.Seen.Finalizer; {
	case left && (d.Record.FenceNumber == 0 || d.Record.Phase == api.Finished):
		d.Record.FenceNumber++
		d.begin()
	case d.Record.Phase == "":
		d.begin()
	}
}

// begin starts the status of this number anew; what was closed goes into the past. What
// of an earlier fence may still take effect at the device is carried over (S8), and so is a power cut that the boot ID
// refutes, or may refute (S1).
func (d *decision) begin() {
	old, cuts := *d.Record, d.Cuts()
	if old.OpenedAt != nil {
		closed := d.Time()
		if old.PhaseSince != nil {
			closed = *old.PhaseSince
		}
		old.Past = append(old.Past, api.PastFence{
			FenceNumber: old.FenceNumber - 1, OpenedAt: *old.OpenedAt, ClosedAt: closed,
			Outcome: old.Outcome, Cuts: cuts, AskedBy: old.Decision.PastAskedBy(),
		})
		old.Past = d.KeptPast(old.Past)
	}
	*d.Record = api.NodeFenceStatus{
		MinReaderVersion: api.Schema, FenceNumber: old.FenceNumber, Decision: old.Decision, ObservedGeneration: old.ObservedGeneration,
		OpenedAt: d.At(0),
		Claim:    old.Claim, Lease: old.Lease, Past: old.Past, SaidBefore: old.SaidBefore, ProvenCut: old.ProvenCut, Refuted: old.Refuted,
		Power:       api.PowerRecord{DeviceRecord: api.DeviceRecord{EffectUntil: old.Power.EffectUntil}, Denied: old.Power.Denied},
		Transitions: old.Transitions,
	}
	if d.Decision.Policy.Name == "" {
		d.opens("to be deleted: no fence was decided on")
		return
	}
	d.opens(d.OpenedFor() + ", " + facts.DecidingPolicy(d.Decision.ResolvedPolicy))
}

// hear keeps what people ask of this very fence, and refuses what is about another one: a
// word from a kept file, or one that was written late, must not count for a fence that its
// author never saw (S3, S20). The admission policy has refused it already, where there is
// one.
func (d *decision) hear(all api.Requests) {
	d.Requests = all.About(d.Record.FenceNumber)
	for i := range d.Record.Answers {
		a := &d.Record.Answers[i]
		a.At = api.AnswerAt(a.At) // one stored before may read as the zero time, which can't be stored again
	}
	other := func(name api.RequestName, r *api.Request, is bool) {
		if r != nil && !is {
			d.answer(name, r, api.Refused, fmt.Sprintf("it is about fence %d of this node, and this is fence %d", r.FenceNumber, d.Record.FenceNumber))
		}
	}
	other(api.AskedApprove, all.Approve, d.Requests.Approve != nil)
	other(api.AskedRetry, all.Retry, d.Requests.Retry != nil)
	other(api.AskedUncordon, all.Uncordon, d.Requests.Uncordon != nil)
	if c := all.ConfirmOff; c != nil {
		other(api.AskedConfirmOff, &c.Request, d.Requests.ConfirmOff != nil)
	}
	if a := all.Abort; a != nil && a.FenceNumber != nil {
		other(api.AskedAbort, &api.Request{FenceNumber: *a.FenceNumber, By: a.By, At: a.At}, d.Requests.Abort != nil)
	}
}

// answer writes what became of a request, unless that stands there already.
func (d *decision) answer(name api.RequestName, r *api.Request, result api.AnswerResult, msg string) {
	is := api.RequestAnswer{Request: name, FenceNumber: r.FenceNumber, By: r.By, At: api.AnswerAt(r.At), Result: result, AnsweredAt: d.Time(), Message: msg}
	switch was := d.Record.Answer(name); {
	case was == nil:
		d.Record.Answers = append(d.Record.Answers, is)
	case !was.IsTo(r.At) || was.FenceNumber != r.FenceNumber || was.Result != result || was.Message != msg:
		*was = is
	}
}

// A request that comes while a fence of its node is open joins that fence (S7). If no
// power was cut and nothing released yet, the fence goes on from there as asked for: it
// waits for no condition, and passes the gate and all limits like any other. What is
// done to the machine is for the policy to say, so that no request is stronger than
// another.

// Ends says why a request can't join this open fence of a Node: it is about to end
// without a cut, or is of another Node object (S6). Empty if it can. A fence that was
// opened because there was no Node waits for the one that is to come of its machine.
func Ends(f *api.NodeFence, node types.UID) string {
	switch st := &f.Status; {
	case f.Status.Decision.NodeUID != node && !(facts.Served(st) && f.Status.Decision.Trigger.Missing()):
		return "the fence that is under way is of another Node object of this name, and ends"
	case facts.Served(st):
		return ""
	case st.Undone() || f.Requests().Abort != nil || f.DeletionTimestamp != nil:
		return "the fence of this node that is under way ends, and no power was cut"
	}
	return ""
}

// Join writes a request into the record of an open fence, with who, why and by which event
// in its story (S28), and says what becomes of it.
func Join(f *api.NodeFence, r api.AskedBy) string {
	st, dec := &f.Status, &f.Status.Decision
	words, told := "it joins the fence that is under way", r.Words()+", joins this fence"
	r.Served = facts.Served(st)
	if how := (&facts.Facts{Record: st}).GoesOn(r); !r.Served && how != "" {
		words, told = "it joins the fence that waits, "+how, told+", "+how
	}
	dec.AskedBy = dec.Joined(r)
	joined := *st
	d := &decision{Facts: facts.Facts{Record: &joined, Now: r.JoinedAt.Time}}
	d.aside(api.RequestMerged, told)
	st.History = d.Record.History
	if st.Phase == api.Failed {
		words = "it joins the fence that was given up, which goes on when a person wants it to (spec.requests.retry)"
	}
	return words
}

// noteWithdrawn forgets that a request wanted no drain which was withdrawn since, and once the fence was
// begun that it asks at all. Only the gate may write who has asked (infra/crd/requests.yaml): the status of
// any other function would be refused whole, for ever (S25, S27).
func (d *decision) noteWithdrawn(uids []string) {
	for _, uid := range uids {
		all := d.Decision.SkipWithdrawn(uid)
		if all == nil {
			continue
		}
		dec := *d.Decision // what was decided is shared
		if dec.AskedBy, d.Decision = all, &dec; d.Record.Phase == api.Pending {
			d.Record.Decision.AskedBy = all
			d.aside(api.RequestWithdrawn, "the FenceRequest is withdrawn that wanted no drain, UID "+uid)
		}
	}
	d.Decision = d.StillAsked(uids)
}

// Asked tells whether this open fence goes on because an event asks for it.
func Asked(f *api.NodeFence, now time.Time) bool {
	return facts.Requested(&f.Status.Decision, &f.Status, now)
}

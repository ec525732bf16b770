package fence

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Under recovery.uncordon: Manual a node that was fenced is not given back because it is healthy:
// somebody looks why it failed first (CloudStack keeps such a host in maintenance). It
// holds no slot meanwhile (S14), and abort, deletion and the end of its Node end it as
// they end everything (S27).

// keptBack holds a node that has been healthy for long enough, until a person gives it
// back: by spec.requests.uncordon, or by kubectl uncordon.
func (d *decision) keptBack() outcome {
	if !d.keeps() {
		return goOn
	}
	if d.uncordonAsked() {
		d.tell(api.UncordonAsked, d.requests.Uncordon.By+" gives the node back")
		d.answer(api.AskedUncordon, d.requests.Uncordon, api.Accepted, "the node is given back")
		return goOn
	}
	if d.uncordoned() {
		d.tell(api.UncordonAsked, "somebody has uncordoned the node, and so gives it back")
		return goOn
	}
	if d.st.KeptSince == nil && d.ourCordon() {
		d.st.KeptSince = d.at(0)
	}
	return d.stay(api.WaitingForUncordon, "healthy for "+d.dec.Settings.Recovery.ReadyDuration.Duration.String()+"; "+d.untilUncordoned(), Resync)
}

// uncordoned: our cordon was on the node when it was first held for a person, in this
// recovery, and is there no more. A cordon that went earlier says nothing of this failure;
// one that was there before the fence is somebody else's, who may take it away for reasons
// of his own.
func (d *decision) uncordoned() bool { return d.st.KeptSince != nil && !d.seen.Node.Cordoned }

func (d *decision) ourCordon() bool { return d.st.Placed.Cordon && d.seen.Node.Cordoned }

// notBackYet has one that healed after a restart of the flow wait like any other:
// nothing was done to it in this pass, but it was in an earlier one.
func (d *decision) notBackYet() {
	switch d.st.Outcome {
	case api.HealedBeforeFence, api.RequestExpired, api.RequestFailed:
		if d.keeps() {
			d.st.Outcome = ""
		}
	}
}

// illAgain says of a node that was held that its health is waited for again.
func (d *decision) illAgain() {
	d.st.KeptSince = nil
	if d.said(api.WaitingForUncordon) {
		d.tell(api.WaitingForUncordon, "not healthy any more; once it is, "+d.untilUncordoned())
	}
}

func (d *decision) untilUncordoned() string {
	how := "gives it back (spec.requests.uncordon)"
	if d.ourCordon() {
		how = "uncordons it (kubectl uncordon, or spec.requests.uncordon)"
	}
	return "policy " + d.dec.Policy.Name + " keeps it isolated until a person " + how
}

// keeps: this node was fenced and is isolated still, and its policy leaves it to a
// person to end that. What somebody has given back by hand can't be kept.
func (d *decision) keeps() bool {
	n := d.seen.Node
	if d.dec.Settings.Recovery.Uncordon != api.UncordonManual || d.requests.Abort != nil || d.seen.Deleting || n.UID != d.dec.NodeUID || !n.Taint {
		return false
	}
	access := func(r api.IsolationRecord) bool { return r.OffAt != nil }
	return d.st.CutOrReleased || d.dec.Settings.Action == api.ActionIsolate || slices.ContainsFunc(d.st.Isolation, access)
}

// uncordonAsked: a person wants this node back, and it is this time that they speak of.
func (d *decision) uncordonAsked() bool {
	r := d.requests.Uncordon
	return r != nil && !d.st.Answered(api.AskedUncordon, r.At)
}

// noteUncordon answers who uncordons what is not kept, so that it counts for no later recovery.
func (d *decision) noteUncordon() {
	if waits := d.st.Phase == api.Recovering && d.dec.Settings.Recovery.Uncordon == api.UncordonManual; waits || !d.uncordonAsked() {
		return
	}
	r := d.requests.Uncordon
	d.answer(api.AskedUncordon, r, api.NotNeeded, "it is not kept isolated now, and it counts for no later recovery")
	d.aside(api.UncordonAsked, r.By+" asked to uncordon what is not kept isolated now: it counts for nothing later")
}

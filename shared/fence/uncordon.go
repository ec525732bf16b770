package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Under recovery.uncordon: Manual a node that was fenced is not given back because it is healthy:
// somebody looks why it failed first (CloudStack keeps such a host in maintenance). It
// holds no slot meanwhile (S14), and abort, deletion and the end of its Node end it as
// they end everything (S27).

// keptBack holds a node that has been healthy for long enough, until a person gives it
// back: by spec.requests.uncordon, or by kubectl uncordon.
func (d *decision) keptBack() outcome {
	if !d.Keeps() {
		return goOn
	}
	if d.UncordonAsked() {
		d.tell(api.UncordonAsked, d.Requests.Uncordon.By+" gives the node back")
		d.answer(api.AskedUncordon, d.Requests.Uncordon, api.Accepted, "the node is given back")
		return goOn
	}
	if d.Uncordoned() {
		d.tell(api.UncordonAsked, "somebody has uncordoned the node, and so gives it back")
		return goOn
	}
	if d.Record.KeptSince == nil && d.OurCordon() {
		d.Record.KeptSince = d.At(0)
	}
	return d.stay(api.WaitingForUncordon, "healthy for "+d.Decision.Settings.Recovery.ReadyDuration.Duration.String()+"; "+d.UntilUncordoned(), facts.Resync)
}

// notBackYet has one that healed after a restart of the flow wait like any other:
// nothing was done to it in this pass, but it was in an earlier one.
func (d *decision) notBackYet() {
	switch d.Record.Outcome {
	case api.HealedBeforeFence, api.RequestExpired, api.RequestFailed:
		if d.Keeps() {
			d.Record.Outcome = ""
		}
	}
}

// illAgain says of a node that was held that its health is waited for again.
func (d *decision) illAgain() {
	d.Record.KeptSince = nil
	if d.Said(api.WaitingForUncordon) {
		d.tell(api.WaitingForUncordon, "not healthy any more; once it is, "+d.UntilUncordoned())
	}
}

// noteUncordon answers who uncordons what is not kept, so that it counts for no later recovery.
func (d *decision) noteUncordon() {
	if waits := d.Record.Phase == api.Recovering && d.Decision.Settings.Recovery.Uncordon == api.UncordonManual; waits || !d.UncordonAsked() {
		return
	}
	r := d.Requests.Uncordon
	d.answer(api.AskedUncordon, r, api.NotNeeded, "it is not kept isolated now, and it counts for no later recovery")
	d.aside(api.UncordonAsked, r.By+" asked to uncordon what is not kept isolated now: it counts for nothing later")
}

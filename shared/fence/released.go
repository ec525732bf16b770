package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// released: the out-of-service taint goes first (S23), then the machine comes
// back, if it was we who cut it.
func (d *decision) released() outcome {
	if o := d.clearOutOfService(); o.decided {
		return o
	}
	if d.st.Release.DoneAt == nil {
		d.st.Release.DoneAt = d.at(0)
	}
	d.st.Power.LastRead, d.st.Power.NotBefore, d.st.Retries = nil, nil, 0
	reason, msg := api.Released, fmt.Sprintf("%d pods released", d.st.Release.Pods)
	if d.said(api.ReleaseTimedOut) {
		reason, msg = d.st.Reason, d.st.Message
	}
	if p := d.st.Proof; p != nil && p.Type == api.ProofStorageCut {
		return d.cutReleased(reason, msg)
	}
	o, left := d.nodeGoes(reason)
	if o.decided {
		return o
	}
	if d.owesPowerOn() {
		return d.enter(api.PoweringOn, reason, msg)
	}
	d.tell(reason, msg)
	why := d.staysOff()
	if !d.st.Power.SwitchedByUs {
		why = "it was not nodefence that switched this machine off"
	}
	if reason == api.ReleaseTimedOut {
		why += "; " + msg
	}
	return d.enter(api.Fenced, api.StaysOff, why+left)
}

// clearOutOfService takes the taint off, if it stays.
func (d *decision) clearOutOfService() outcome {
	if d.outOfServiceStays() {
		return d.carryOut(ClearOutOfService)
	}
	d.noteOutOfServiceGone()
	return goOn
}

// nodeGone is the release of a node that has no Node object.
func (d *decision) nodeGone() outcome {
	if o := d.workLeft(api.SeenOff, ""); o.decided {
		return o
	}
	return d.released()
}

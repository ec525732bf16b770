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
	if d.st.Release.TimedOut {
		reason, msg = api.ReleaseTimedOut, d.leftBehind()
	}
	if p := d.st.Proof; p != nil && p.Type == api.ProofStorageCut {
		return d.cutReleased(reason, msg)
	}
	o, left := d.nodeGoes()
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
	if d.st.Release.TimedOut {
		why += "; " + msg
	}
	return d.leave(api.Fenced, api.StaysOff, why+left)
}

// timedOut ends a release before all was free.
func (d *decision) timedOut(msg string) outcome {
	d.noteTimedOut(msg)
	return d.released()
}

// noteTimedOut does not take back that a release was done.
func (d *decision) noteTimedOut(msg string) {
	d.st.Release.TimedOut = d.st.Release.TimedOut || d.st.Release.DoneAt == nil
	d.tell(api.ReleaseTimedOut, msg)
}

// leftBehind says what a release that timed out has not freed, in the words in which it was
// told, as long as they are the last.
func (d *decision) leftBehind() string {
	if d.said(api.ReleaseTimedOut) {
		return d.st.Message
	}
	msg := "the release ended before all was free"
	if r := d.st.Release; r.PodsLeft+r.AttachmentsLeft > 0 {
		msg += fmt.Sprintf(": %d pods and %d attachments are left", r.PodsLeft, r.AttachmentsLeft)
	}
	return msg
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

package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// isolating places taint and cordon, and cuts off what is to be cut when they are seen.
func (d *decision) isolating() outcome {
	if o := first(d.ended, d.calledOff, d.yesTooOld, d.endsAwaited); o.decided {
		return o
	}
	touches := d.dec.Settings.Action.Device() || d.confirmAsked()
	switch {
	case d.missing() && touches:
		return d.cutOff("there is no Node object on which work could be placed")
	case d.missing():
		return d.leave(api.Fenced, api.IsolatedOnly, noDeviceTouched)
	case !d.seen.Node.Taint:
		return d.mark()
	case d.dec.Settings.Action == api.ActionIsolate && !d.confirmAsked():
		return d.leave(api.Fenced, api.IsolatedOnly, noDeviceTouched)
	case d.dumpProves():
		return d.toDump()
	}
	return d.cutOff("no new work is placed on this node")
}

// yesTooOld sends a fence back whose yes is too old. A release that was begun goes on to its
// end, whatever the age of its yes (S25): a proof by storage alone is made anew here while
// its pods go one by one.
func (d *decision) yesTooOld() outcome {
	if d.st.Release.StartedAt != nil || d.st.Awaited != nil {
		return goOn
	}
	return d.outdated()
}

// mark places taint and cordon. What was there before is written down before it is changed
// (S22).
func (d *decision) mark() outcome {
	if !d.st.Placed.Taint {
		d.st.Placed.Cordon = !d.seen.Node.Cordoned
	}
	d.st.Placed.Taint = true
	return d.carryOut(Isolate)
}

// noDeviceTouched is what such a fence says.
const noDeviceTouched = "no new work is placed on this node, and no device is touched: its work stays with it until it is back, or a person confirms that the machine is off (spec.requests.confirmOff)"

package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// restoring gives back what we cut, and goes on.
func (d *decision) restoring() outcome {
	if i := d.deviceIndex(d.callDevice); i >= 0 {
		d.isolationRecords()
		d.judgeBack(i)
	}
	var due time.Time
	held := d.outOfReach()
	for i := len(d.dec.Isolation()) - 1; i >= 0; i-- {
		if r := d.record(i); r == nil || !owed(*r) {
			continue
		}
		if why := d.withheld(i); why != "" {
			held = why
			if d.seen.Deleting { // a record that a person has deleted comes to its end (S27)
				d.abandon(d.record(i), why)
			}
			continue
		}
		if at := d.backAt(i); at.After(d.now) {
			due = sooner(due, at) // another device need not wait for it
			continue
		}
		if o := d.calledAlready(); o.decided {
			return o
		}
		return d.readOrGiveBack(i)
	}
	switch {
	case !due.IsZero() && d.st.Outcome == api.SentBack && d.st.Claim == nil && d.allDead():
		return d.restored() // the rest of ours is taken off the node, and the gate goes on deciding
	case !due.IsZero():
		d.wakeAt(due)
		return settled
	case d.owesBack():
		return d.stay(api.WaitingForReboot, held, Resync)
	}
	return d.restored()
}

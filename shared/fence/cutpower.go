package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// againstOff holds each Off to a device of the machine on which nodefence runs (S13).
func (d *decision) againstOff() outcome {
	what := "cut its power"
	if d.Record.Phase == api.Isolating {
		what = "cut it off"
	}
	if d.Seen.Self {
		return d.stay(api.OwnMachine, "nodefence runs on this node; another replica must "+what, facts.Handover)
	}
	return goOn
}

// askApproval goes back for the approval that the policy asks for. A person's word that the machine is
// off has led the fence here, and is no approval of an Off (S17).
func (d *decision) askApproval() outcome {
	if d.Begun() || d.Decision.Settings.Mode != api.ModeRequireApproval || facts.Approved(d.Requests, d.Record) {
		return goOn
	}
	d.dropReservation()
	return d.enter(api.Pending, api.WaitingForApproval, "the machine is on, and nobody has approved that its power is cut")
}

// againstFurtherOff holds an Off after the first, for which there is no reason any more, or
// against which a brake is on.
func (d *decision) againstFurtherOff() outcome {
	if !d.Record.Power.SwitchedByUs {
		return goOn
	}
	if o := d.recovered(); o.decided {
		return o // what we sent did nothing, and there is no reason for more (S17)
	}
	if d.Braking() {
		if o := d.endBegun(); o.decided {
			return o // no word of ours will switch it off (S27)
		}
		return d.heldOff() // S25
	}
	if d.AskedNoMore() {
		// A condition that is not due yet leads to the next Off, and not to a wait for another device.
		awaits := facts.ConditionsDue(d.Decision, d.Record).IsZero()
		return d.holdOff(api.RequestWithdrawn, "no further Off: who asked for this fence has withdrawn that, and no condition of the policy has held for its time", awaits)
	}
	return goOn
}

// notCounted waits where nobody has counted for this very Off: not asked again is no yes
// (S13, S15).
func (d *decision) notCounted() outcome {
	if d.Seen.Brakes.Counted {
		return goOn
	}
	return d.stay(d.Record.Reason, d.Record.Message, facts.Handover)
}

// accessFirst goes back to what must be cut before the power.
func (d *decision) accessFirst() outcome {
	if !d.CutsBeforePower() {
		return goOn
	}
	d.isolationRecords()
	if !d.Uncut() {
		return goOn
	}
	return d.enter(api.Isolating, api.Admitted, "it is not the Lease alone any more: storage and network first")
}

// Under isolation.powerDelay a node is isolated for some time before its power is cut, and a node
// that is healthy again within that time is given back (the fencing proposal waits so between its
// steps Isolation and Power-Management). The fence waits at the gate and holds no slot (S14). When
// the time is over, the gate decides anew (S17: a decision older than its validity is decided
// again). If a process dies meanwhile nothing is lost: the time counts from what the record says.

// powerLater waits at the gate until the node was isolated for long enough.
func (d *decision) powerLater() outcome {
	due := d.PowerDue()
	if !due.After(d.Now) {
		return goOn
	}
	msg := "isolated; its power is not cut before " + due.UTC().Format(time.RFC3339) + " (isolation.powerDelay)"
	if d.Record.Phase == api.Pending {
		d.tell(api.WaitingBeforePower, msg+d.StillCut())
	} else {
		d.giveBack()
		d.enter(api.Pending, api.WaitingBeforePower, msg+d.StillCut())
	}
	return d.waitUntil(due)
}

// cutPower sends the Off.
func (d *decision) cutPower() outcome {
	p := &d.Record.Power
	p.LeaseFresh = d.LeaseFresh()
	p.OffAt, p.OffError = d.At(0), ""
	p.OffCalls++
	if !p.SwitchedByUs {
		d.countCut()
	}
	d.noteCut()
	p.RebootOver = p.RebootOver || d.RebootBegun()
	p.CutAt, p.SwitchedByUs = d.At(0), true // saved with the intent, after a read of on (S12)
	d.tell(api.PowerOffSent, fmt.Sprintf("cutting the power, call number %d", p.OffCalls))
	return d.power().call(api.CallOff)
}

// recovered: the node's own health began this fence, and it is healthy again since our
// last Off was sent. What is still asked for is done, healthy or not.
func (d *decision) recovered() outcome {
	if d.Decision.Asker() != nil || d.Decision.Trigger.OfMachine() || !d.HealthySince(d.Record.Power.CutAt) {
		return goOn
	}
	d.nodeRecovered()
	return settled
}

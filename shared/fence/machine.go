package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A Machine that has no node is deleted where its policy says so, and its owner makes
// another one. It goes through the gate as a node of the Machine's own name that is
// missing, so that limits, mode, pauses and windows hold for it, and its record can
// mark and release nothing (S6). There is no device, no proof, and no release (S1).

// A node whose Machine is in phase Failed, or is asked to be remediated, is unhealthy
// at once where its policy expects Machines. What comes of it is a fence like any
// other, and what is done to the machine is what the node's configuration says. Once
// power was cut, or work released, the node's health alone decides, as for a request.

// machineTrouble is what is wrong with the node's Machine. Where nobody looked it
// stays as it was seen last.
func (d *decision) machineTrouble() (all []api.Evidence) {
	if m := d.seen.Machine; m != nil {
		return []api.Evidence{d.spell(api.Evidence{Type: api.TriggerMachine, MachineState: m.State, Mark: *d.stamp(m.Since.Time)})}
	}
	for _, was := range d.st.Evidence {
		if !d.seen.MachineLooked && was.Type == api.TriggerMachine {
			all = append(all, was)
		}
	}
	return all
}

// machineGoes asks for the deletion, and waits for it to show. That it was asked for is
// saved before it is, and is no evidence: the list of resync's next look is.
func (d *decision) machineGoes() outcome {
	if o := d.calledOff(); o.decided {
		return o
	}
	r := d.st.Machine
	switch {
	case r != nil && d.since(&r.AskedAt) < machineShows:
		return d.stay(api.MachineDeletionSent, d.st.Message, machineShows-d.since(&r.AskedAt))
	case r != nil && r.Tries >= d.attempts():
		return d.fail(api.MachineNotDeleted, fmt.Sprintf("Machine %s was to be deleted %d times, and is still listed", d.dec.Trigger.Machine.String(), r.Tries))
	}
	if o := d.stale(); o.decided {
		return o
	}
	if !d.seen.Brakes.Counted {
		return d.stay(d.st.Reason, d.st.Message, Handover) // not asked again is no yes (S15)
	}
	tries := int32(1)
	if r != nil {
		tries = r.Tries + 1
	}
	d.st.Machine = &api.MachineRecord{AskedAt: d.time(), Tries: tries}
	d.tell(api.MachineDeletionSent, fmt.Sprintf("deleting Machine %s (try %d of %d)", d.dec.Trigger.Machine.String(), tries, d.attempts()))
	return d.carryOut(DeleteMachine)
}

// machineShows is how long after its deletion was asked for a Machine may still be
// listed: policystatus looks each half minute.
const machineShows = Resync + 15*time.Second

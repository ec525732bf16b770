package fence

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A further Off may be held: by a brake, or because storm, budgets and quorum were counted
// anew. The machine reads on by then. If the fence kept its slot, another one of its set
// would wait for it, and it for that one, for ever: a budget of one, a quorum of three. So
// it goes back to the gate, where it waits like any other and holds nothing (S14). What was
// sent before can't take effect any more, and is no cut of ours from here: what the gate
// allows later is another first Off, under all that a first one is asked for (S13, S17).

// heldOff is the further Off that is not sent.
func (d *decision) heldOff() outcome {
	b := d.seen.Brakes
	why, msg := b.Why, "no further Off while the brake is on: "+b.Message
	switch {
	case why != "":
	case b.Paused && !b.Stopped:
		why = api.Paused
	case b.Storm && !b.Stopped:
		why = api.TooManyUnhealthy
	default:
		why = api.Stopped
	}
	if !b.Looked || d.mayBeLate() {
		return d.stay(why, msg, Handover)
	}
	if others := d.otherCuts(); len(others) > 0 {
		// Another device was told to cut the power, and has not shown what it did. What
		// people have stopped goes on here once they let it. What was counted may wait for
		// the very slot that this fence holds: so that device is read without one.
		if !b.Storm || b.Stopped || b.Paused || b.Stricter {
			return d.stay(why, msg, Handover)
		}
		d.st.Power.Cut = others
		return d.await(why, fmt.Sprintf("level %d reads on; %s", d.st.Power.Level+1, msg))
	}
	d.readsOn()
	d.giveBack()
	return d.newPass(why, msg)
}

// readsOn gives up the cut of a machine whose device reads on, and by which nothing of ours
// can still take effect. If another device was told to cut the power too, that is read next.
func (d *decision) readsOn() outcome {
	p := &d.st.Power
	if p.Cut = d.otherCuts(); len(p.Cut) > 0 {
		d.tell(api.MachineReadOn, fmt.Sprintf("level %d reads on", p.Level+1))
		p.Level, p.LastRead, p.NotBefore = d.highestCut(), nil, nil
		d.lookAfter(0)
		return settled
	}
	p.Cut = nil
	d.switchedOnByOther()
	return goOn
}

// otherCuts are the levels besides this one that were told to cut the power.
func (d *decision) otherCuts() []int32 {
	p := d.st.Power
	return slices.DeleteFunc(slices.Clone(p.Cut), func(l int32) bool { return l == p.Level })
}

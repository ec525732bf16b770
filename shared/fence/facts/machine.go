package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// MachineTrouble is what is wrong with the node's Machine. Where nobody looked it
// stays as it was seen last.
func (d *Facts) MachineTrouble() (all []api.Evidence) {
	if m := d.Seen.Machine; m != nil {
		return []api.Evidence{d.Spell(api.Evidence{Type: api.TriggerMachine, MachineState: m.State, Mark: *d.Stamp(m.Since.Time)})}
	}
	for _, was := range d.Record.Evidence {
		if !d.Seen.MachineLooked && was.Type == api.TriggerMachine {
			all = append(all, was)
		}
	}
	return all
}

// MachineShows is how long after its deletion was asked for a Machine may still be
// listed: policystatus looks each half minute.
const MachineShows = Resync + 15*time.Second

// CameBack: the node runs again after our cut, whatever its device says.
func (d *Facts) CameBack() bool {
	return d.Healthy() && !d.renamed() && d.Record.BootIDBefore != "" && d.Seen.Node.BootID != d.Record.BootIDBefore
}

// renamed: the Node object is another one than that of the machine that we cut, which may
// have had none. It may be the same machine, which has registered anew: its device tells.
func (d *Facts) renamed() bool {
	return d.Seen.Node.Exists && d.Seen.Node.UID != d.Decision.NodeUID
}

// AnotherLives: a kubelet works under the name of the machine that we cut, which reads
// off, or is not heard of. Where that machine had no Node it may be its own, which has
// just registered: then it must read off.
func (d *Facts) AnotherLives() bool {
	return d.renamed() && d.Healthy() && (d.Decision.NodeUID != "" || d.FreshlyRead(api.PoweredOff))
}

// MayBeAnother: a Node of another machine is Ready, and its Lease has not missed two
// renewals; whether it lives, its next renewal tells.
func (d *Facts) MayBeAnother() bool {
	return d.renamed() && d.Seen.Node.Exists && d.Seen.Node.Ready() && d.LeaseFresh() && d.Record.Power.OnAt == nil && d.FreshlyRead(api.PoweredOff)
}

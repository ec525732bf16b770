package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// failedNow are the Machines on whose account a policy has nodes fenced. What failed
// before keeps its time.
func failedNow(p *api.FencePolicy, c Picture, now time.Time) (all []api.FailedMachine) {
	x := p.Spec.Machines
	if x == nil {
		return nil
	}
	patience := x.StartupTimeout.Or(policy.DefaultMissing).Duration
	for i := range c.Machines {
		m := &c.Machines[i]
		state, why := m.Trouble()
		if state == "" && x.Deletes() && m.Status.NodeRef == nil && now.Sub(m.CreationTimestamp.Time) >= patience {
			state, why = api.MachineStateNoNode, "no Node has come of it for "+patience.String()
		}
		if state == "" || m.DeletionTimestamp != nil || !policy.Wants(p, m) {
			continue
		}
		f := api.FailedMachine{MachineRef: m.Ref(), State: state, Message: why, Since: observed.StampOf(now)}
		if ref := m.Status.NodeRef; ref != nil {
			f.NodeName, f.NodeUID = clip.To(clip.NameBytes, ref.Name), c.node(ref.Name).UID // no Node has a longer one
		}
		for _, was := range p.Status.FailedMachines {
			if was.UID == f.UID && was.State == f.State {
				f.Since, f.NotBefore = was.Since, was.NotBefore
			}
		}
		f.Held = clip.Message(cmp.Or(c.machineHeld(m, f), c.aloneHeld(p, m, f)))
		if last := c.fence(f.Record()); last == nil || !last.Open() {
			f.NotBefore = c.backOff(f, m.CreationTimestamp.Time, now)
		}
		all = append(all, f)
	}
	// Whatever is cut are Machines that have no node, before any that has.
	slices.SortStableFunc(all, func(a, b api.FailedMachine) int {
		return cmp.Or(min(len(b.NodeName), 1)-min(len(a.NodeName), 1), strings.Compare(a.MachineRef.String(), b.MachineRef.String()))
	})
	return all
}

// machineHeld says why a Machine is left alone, if it is.
func (c Picture) machineHeld(m *policy.Machine, f api.FailedMachine) string {
	if why := m.LeftAlone(); why != "" {
		return why
	}
	last := c.fence(f.Record())
	if f.State != api.MachineStateRemediate || last == nil || last.Open() {
		return ""
	}
	if of := last.Status.Decision.Trigger.Machine; of != nil && of.UID == f.UID && of.State == f.State && last.Status.CutOrReleased {
		return fmt.Sprintf("what its annotation asks for was done (fence %d)", last.Status.FenceNumber)
	}
	return ""
}

// backOff is until when a Machine waits: from the last fence within a day that was
// for itself, or for one of the same owner before it was created, ten minutes,
// doubling with each. Those that fail beside each other do not wait for each other.
func (c Picture) backOff(m api.FailedMachine, created, now time.Time) *api.Time {
	n, last := 0, time.Time{}
	count := func(at *api.Time) {
		if at != nil && now.Sub(at.Time) < 24*time.Hour {
			n++
			if at.After(last) {
				last = at.Time
			}
		}
	}
	for i := range c.Fences {
		f := &c.Fences[i]
		of := f.Status.Decision.Trigger.Machine
		switch {
		case of == nil || f.Status.OpenedAt == nil:
		case of.UID == m.UID:
			count(f.Status.OpenedAt)
			for j := range f.Status.Past {
				count(&f.Status.Past[j].OpenedAt)
			}
		case m.Owner != "" && of.Owner == m.Owner && f.Status.OpenedAt.Time.Before(created):
			count(f.Status.OpenedAt)
		}
	}
	if n == 0 {
		return nil
	}
	wait := machineWaits
	if n <= 4 {
		wait = min(machineWait<<(n-1), machineWaits)
	}
	until := observed.StampOf(last.Add(wait))
	return &until
}

// aloneHeld says why a Machine that has no node is only told, if it has none.
func (c Picture) aloneHeld(p *api.FencePolicy, m *policy.Machine, f api.FailedMachine) string {
	if f.NodeName != "" {
		return ""
	}
	if !p.Spec.Machines.Deletes() {
		return "it has no node, and machines.withoutNode is not Delete"
	}
	if !p.Spec.Action.Device() {
		return "it has no node, and the policy's action is " + string(p.Spec.Action)
	}
	if err := policy.MayDelete(m, c.identities()); err != nil {
		return err.Error()
	}
	return ""
}

// How long a Machine waits that replaces others which were fenced for having failed:
// without that, a pool whose Machines all fail would be made anew without an end.
const (
	machineWait  = 10 * time.Minute
	machineWaits = 2 * time.Hour
)

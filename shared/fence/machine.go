package fence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// A node whose Machine is in phase Failed, or is asked to be remediated, is unhealthy
// at once where its policy expects Machines. What comes of it is a fence like any
// other, and what is done to the machine is what the node's configuration says. Once
// power was cut, or work released, the node's health alone decides, as for a request.

// The annotations by which people and controllers speak of a Machine. The first two
// count whatever their value.
const (
	skipRemediation = "cluster.x-k8s.io/skip-remediation"
	paused          = "cluster.x-k8s.io/paused"
	askRemediation  = "cluster.x-k8s.io/remediate-machine"
)

// How long a Machine waits that replaces others which were fenced for having failed:
// without that, a pool whose Machines all fail would be made anew without an end.
const (
	machineWait  = 10 * time.Minute
	machineWaits = 2 * time.Hour
)

// failedPhase is the phase of a Machine that has failed.
const failedPhase = "Failed"

// trouble is why a Machine's node is to be fenced, if it is.
func (m *Machine) trouble() (state api.MachineState, message string) {
	s := m.Status
	if _, asked := m.Annotations[askRemediation]; s.Phase != failedPhase && asked {
		return api.MachineStateRemediate, "annotation " + askRemediation
	}
	if s.Phase != failedPhase {
		return "", ""
	}
	words := []string{"phase Failed"}
	for _, w := range []string{s.ErrorReason, s.ErrorMessage, s.FailureReason, s.FailureMessage} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	text := strings.Join(strings.Fields(strings.Join(words, ", ")), " ")
	return api.MachineStateFailed, clip.To(256, text)
}

func (m *Machine) ref() api.MachineRef {
	r := api.MachineRef{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID}
	if o := metav1.GetControllerOf(m); o != nil {
		r.Owner = types.UID(clip.To(longestUID, string(o.UID))) // whoever makes the Machine may write any
	}
	return r
}

// failedNow are the Machines on whose account a policy has nodes fenced. What failed
// before keeps its time.
func failedNow(p *api.FencePolicy, c Cluster, now time.Time) (all []api.FailedMachine) {
	x := p.Spec.Machines
	if x == nil {
		return nil
	}
	patience := x.StartupTimeout.Or(defaultMissing).Duration
	for i := range c.Machines {
		m := &c.Machines[i]
		state, why := m.trouble()
		if state == "" && x.Deletes() && m.Status.NodeRef == nil && now.Sub(m.CreationTimestamp.Time) >= patience {
			state, why = api.MachineStateNoNode, "no Node has come of it for "+patience.String()
		}
		if state == "" || m.DeletionTimestamp != nil || !wants(p, m) {
			continue
		}
		f := api.FailedMachine{MachineRef: m.ref(), State: state, Message: why, Since: stampOf(now)}
		if ref := m.Status.NodeRef; ref != nil {
			f.NodeName, f.NodeUID = clip.To(longestName, ref.Name), c.node(ref.Name).UID // no Node has a longer one
		}
		for _, was := range p.Status.FailedMachines {
			if was.UID == f.UID && was.State == f.State {
				f.Since, f.NotBefore = was.Since, was.NotBefore
			}
		}
		f.Held = clipped(cmp.Or(c.machineHeld(m, f), c.aloneHeld(p, m, f)))
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
func (c Cluster) machineHeld(m *Machine, f api.FailedMachine) string {
	for _, a := range []string{skipRemediation, paused} {
		if _, is := m.Annotations[a]; is {
			return "it has the annotation " + a
		}
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
func (c Cluster) backOff(m api.FailedMachine, created, now time.Time) *api.Time {
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
	until := stampOf(last.Add(wait))
	return &until
}

// withFailed counts the nodes of failed Machines as unhealthy, those too that are
// left alone or wait (S14).
func (c Cluster) withFailed(failed []api.FailedMachine) Cluster {
	bad := map[string]bool{}
	for _, m := range failed {
		bad[m.NodeName] = true
	}
	if len(bad) == 0 {
		return c
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Unhealthy = c.Nodes[i].Unhealthy || bad[c.Nodes[i].Name]
	}
	return c
}

// MachineDue is the Machine on whose account a policy has this very Node fenced now;
// nil if there is none.
func MachineDue(p *api.FencePolicy, node string, uid types.UID, now time.Time) *api.FailedMachine {
	for i := range p.Status.FailedMachines {
		m := &p.Status.FailedMachines[i]
		if due := m.NotBefore == nil || !now.Before(m.NotBefore.Time); due && m.Held == "" && uid != "" && m.NodeName == node && m.NodeUID == uid {
			return m
		}
	}
	return nil
}

// MachineTrigger is that of a fence on account of the node's Machine, where the policy
// that decides for the node has it fenced for that now.
func MachineTrigger(policies []api.FencePolicy, decides, node string, uid types.UID, now time.Time) *api.Trigger {
	for i := range policies {
		m := MachineDue(&policies[i], node, uid, now)
		if policies[i].Name != decides || m == nil {
			continue
		}
		return &api.Trigger{
			Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: m.MachineRef, State: m.State}, Since: m.Since,
			Reason: string(api.MachineFailed) + ": Machine " + m.MachineRef.String() + ": " + m.Message,
		}
	}
	return nil
}

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

// counts: this evidence speaks for the fence now. That of a Machine, which may stay
// Failed whatever becomes of the node, does so until power was cut or work released,
// and in no fence that was given up.
func (d *decision) counts(e api.Evidence) bool {
	switch {
	case e.Type != api.TriggerMachine:
		return true
	case d.st.CutOrReleased:
		return false
	}
	return slices.Contains([]api.Phase{api.Pending, api.Isolating, api.Fencing, api.Releasing}, d.st.Phase)
}

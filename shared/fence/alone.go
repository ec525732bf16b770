package fence

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A Machine that has no node is deleted where its policy says so, and its owner makes
// another one. It goes through the gate as a node of the Machine's own name that is
// missing, so that limits, mode, pauses and windows hold for it, and its record can
// mark and release nothing (S6). There is no device, no proof, and no release (S1).

// machineShows is how long after its deletion was asked for a Machine may still be
// listed: the second waker looks each half minute.
const machineShows = Resync + 15*time.Second

// ofControlPlane are labels with which Machines of the control plane say so.
var ofControlPlane = map[string]string{
	"cluster.x-k8s.io/control-plane":                "",
	"machine.openshift.io/cluster-api-machine-role": "master",
	"machine.openshift.io/cluster-api-machine-type": "master",
	"node-role.kubernetes.io/control-plane":         "",
	"node-role.kubernetes.io/master":                "",
	"node-role.kubernetes.io/etcd":                  "",
}

// MayDelete says what speaks against deleting a Machine that has no node, as it stands.
func MayDelete(m *Machine) error {
	for _, a := range []string{skipRemediation, paused} {
		if _, is := m.Annotations[a]; is {
			return errors.New("it has the annotation " + a)
		}
	}
	if m.Annotations[byPower] == external {
		return errors.New("it has the annotation " + byPower + "=" + external)
	}
	for label, value := range ofControlPlane {
		if v, is := m.Labels[label]; is && (value == "" || v == value) {
			return errors.New("it is of the control plane") // S13
		}
	}
	switch {
	case m.Status.NodeRef != nil:
		return errors.New("it has a node: " + m.Status.NodeRef.Name)
	case m.ref().Owner == "":
		return errors.New("no owner controls it: nobody would make another one in its place")
	}
	return nil
}

// byPower is with what OpenShift says that a Machine is remediated by its power.
const byPower, external = "machine.openshift.io/remediation-strategy", "external-baremetal"

// aloneHeld says why a Machine that has no node is only told, if it has none.
func (c Cluster) aloneHeld(p *api.FencePolicy, m *Machine, f api.FailedMachine) string {
	if f.NodeName != "" {
		return ""
	}
	if !p.Spec.Machines.Deletes() {
		return "it has no node, and machines.withoutNode is not Delete"
	}
	if !p.Spec.Action.Device() {
		return "it has no node, and the policy's action is " + string(p.Spec.Action)
	}
	if err := MayDelete(m); err != nil {
		return err.Error()
	}
	if c.hasNode(f.Record()) {
		return "it names no node, and a Node has its name"
	}
	return ""
}

// AloneDue is the Machine with this UID, where a policy has it deleted now.
func AloneDue(p *api.FencePolicy, uid types.UID, now time.Time) *api.FailedMachine {
	for i := range p.Status.FailedMachines {
		m := &p.Status.FailedMachines[i]
		if due := m.NotBefore == nil || !now.Before(m.NotBefore.Time); due && m.UID == uid && m.Held == "" && m.NodeName == "" && p.Spec.Machines.Deletes() {
			return m
		}
	}
	return nil
}

// MachineFor is the Machine on whose account this fence is to go on, as its policy has
// it now.
func MachineFor(p *api.FencePolicy, f *api.NodeFence, now time.Time) *api.FailedMachine {
	if t := f.Status.Decision.Trigger; t.OnlyMachine() {
		return AloneDue(p, t.Machine.UID, now)
	}
	return MachineDue(p, f.Spec.NodeName, f.Status.Decision.NodeUID, now)
}

// ResolveAlone is ResolveMissing for the record of a Machine that has no node.
func ResolveAlone(policies []api.FencePolicy, record string, now time.Time) (r api.ResolvedPolicy, t api.Trigger, ok bool) {
	var mine []api.FencePolicy
	selectors := map[string]*api.LabelSelector{}
	for _, p := range policies {
		for i := range p.Status.FailedMachines {
			m := AloneDue(&p, p.Status.FailedMachines[i].UID, now)
			if m == nil || m.Record() != record || t.Machine != nil && t.Machine.UID != m.UID {
				continue
			}
			selectors[p.Name] = countedOver(p.Spec.Selector)
			p.Spec.Selector = everyNode
			mine = append(mine, p)
			t = api.Trigger{
				Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: m.MachineRef, State: api.MachineStateNoNode}, Since: m.Since,
				Reason: string(api.MachineFailed) + ": Machine " + m.MachineRef.String() + ", which has no node: " + m.Message,
			}
			break
		}
	}
	r, ok = resolveAmong(policies, mine, selectors, record)
	return r, t, ok
}

func (d *decision) onlyMachine() bool { return d.dec.Trigger.OnlyMachine() }

// machineGone: its deletion was asked for, and it is not listed any more.
func (d *decision) machineGone() bool {
	if !d.onlyMachine() || d.st.Machine == nil || !d.seen.MachineLooked || d.seen.Machine != nil {
		return false
	}
	d.st.Outcome = api.MachineListedNoMore
	d.to(api.Recovering, api.MachineListedNoMore, "Machine "+d.dec.Trigger.Machine.String()+" is being deleted, or has a node by now")
	return true
}

// machineGoes asks for the deletion, and waits for it to show. That it was asked for is
// saved before it is, and is no evidence: the list of the waker's next look is.
func (d *decision) machineGoes() Action {
	r := d.st.Machine
	switch {
	case d.calledOff():
		return None
	case r != nil && d.since(&r.AskedAt) < machineShows:
		return d.hold(api.MachineDeletionSent, d.st.Message, machineShows-d.since(&r.AskedAt))
	case r != nil && r.Tries >= d.attempts():
		return d.fail(api.MachineNotDeleted, fmt.Sprintf("Machine %s was to be deleted %d times, and is still listed", d.dec.Trigger.Machine.String(), r.Tries))
	case d.stale():
		return None
	case !d.seen.Brakes.Counted:
		return d.hold(d.st.Reason, d.st.Message, Handover) // not asked again is no yes (S15)
	}
	tries := int32(1)
	if r != nil {
		tries = r.Tries + 1
	}
	d.st.Machine = &api.MachineRecord{AskedAt: d.time(), Tries: tries}
	d.tell(api.MachineDeletionSent, fmt.Sprintf("deleting Machine %s (try %d of %d)", d.dec.Trigger.Machine.String(), tries, d.attempts()))
	return d.do(DeleteMachine)
}

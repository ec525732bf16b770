package policy

import (
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// Machine is what is needed of a Machine object, of whatever kind.
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		NodeRef *struct {
			Name string `json:"name"`
		} `json:"nodeRef,omitempty"`
		Phase string `json:"phase,omitempty"`
		// OpenShift's words for what is wrong, and Cluster API's.
		ErrorReason    string `json:"errorReason,omitempty"`
		ErrorMessage   string `json:"errorMessage,omitempty"`
		FailureReason  string `json:"failureReason,omitempty"`
		FailureMessage string `json:"failureMessage,omitempty"`
	} `json:"status"`
}

// failedPhase is the phase of a Machine that has failed.
const failedPhase = "Failed"

// The annotations by which people and controllers speak of a Machine. The first two
// count whatever their value.
const (
	SkipRemediation = "cluster.x-k8s.io/skip-remediation"
	Paused          = "cluster.x-k8s.io/paused"
	AskRemediation  = "cluster.x-k8s.io/remediate-machine"
)

// Trouble is why a Machine's node is to be fenced, if it is.
func (m *Machine) Trouble() (state api.MachineState, message string) {
	s := m.Status
	if _, asked := m.Annotations[AskRemediation]; s.Phase != failedPhase && asked {
		return api.MachineStateRemediate, "annotation " + AskRemediation
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

// Ref is what a record keeps of a Machine: which it is, and who owns it.
func (m *Machine) Ref() api.MachineRef {
	r := api.MachineRef{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID}
	if o := metav1.GetControllerOf(m); o != nil {
		r.Owner = types.UID(clip.To(clip.UIDBytes, string(o.UID))) // whoever makes the Machine may write any
	}
	return r
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

// MachineFor is the Machine on whose account this fence is to go on, as its policy has
// it now.
func MachineFor(p *api.FencePolicy, f *api.NodeFence, now time.Time) *api.FailedMachine {
	if t := f.Status.Decision.Trigger; t.OnlyMachine() {
		return AloneDue(p, t.Machine.UID, now)
	}
	return MachineDue(p, f.Spec.NodeName, f.Status.Decision.NodeUID, now)
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
			selectors[p.Name] = CountedOver(p.Spec.Selector)
			p.Spec.Selector = EveryNode
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

// MayDelete says what speaks against deleting a Machine that has no node, as it stands.
func MayDelete(m *Machine) error {
	for _, a := range []string{SkipRemediation, Paused} {
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
	case m.Ref().Owner == "":
		return errors.New("no owner controls it: nobody would make another one in its place")
	}
	return nil
}

// ofControlPlane are labels with which Machines of the control plane say so.
var ofControlPlane = map[string]string{
	"cluster.x-k8s.io/control-plane":                "",
	"machine.openshift.io/cluster-api-machine-role": "master",
	"machine.openshift.io/cluster-api-machine-type": "master",
	"node-role.kubernetes.io/control-plane":         "",
	"node-role.kubernetes.io/master":                "",
	"node-role.kubernetes.io/etcd":                  "",
}

// byPower is with what OpenShift says that a Machine is remediated by its power.
const byPower, external = "machine.openshift.io/remediation-strategy", "external-baremetal"

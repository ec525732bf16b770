package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// MachineRef is a Machine, of whatever kind, and who makes another one in its place.
type MachineRef struct {
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +kubebuilder:validation:MaxLength=253
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Owner is the UID of the object that controls it.
	// +optional
	Owner types.UID `json:"owner,omitempty"`
}

// String is namespace/name.
func (r MachineRef) String() string { return r.Namespace + "/" + r.Name }

// FailedMachine is a Machine whose node is to be fenced on its account.
type FailedMachine struct {
	MachineRef `json:",inline"`
	// Node is its node, and NodeUID the Node object of that name; empty if it has none.
	// +optional
	Node string `json:"node,omitempty"`
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// Status is Failed, Remediate where somebody asks for it by annotation, or NoNode
	// where none has come of it in time.
	Status string `json:"status"`
	// Message is why, in the Machine's own words.
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when it was first seen so.
	Since Time `json:"since"`
	// NotBefore is until when it waits, as one that replaces others that failed.
	// +optional
	NotBefore *Time `json:"notBefore,omitempty"`
	// Held says why it is left alone, if it is.
	// +optional
	Held string `json:"held,omitempty"`
}

// Record is the name of the NodeFence: the node's, or the Machine's own if it has none.
func (m FailedMachine) Record() string {
	if m.Node != "" {
		return m.Node
	}
	return m.Name
}

// The trigger of a fence on account of the node's Machine. No node condition can have
// this type with one of these.
const (
	MachineCondition = "Machine"
	MachinePhase     = "Failed"
	MachineAsked     = "Remediate"
	MachineAlone     = "NoNode"
)

// OnlyMachine tells whether this fence is of a Machine that has no node: there is
// nothing to be switched, marked or released, and the Machine is deleted.
func (t Trigger) OnlyMachine() bool { return t.Missing() && t.Machine != nil }

// MachineRecord is what was asked for of a Machine that has no node.
type MachineRecord struct {
	// AskedAt is when its deletion was last asked for, saved before it is.
	AskedAt Time `json:"askedAt"`
	// Tries there were.
	Tries int32 `json:"tries"`
}

// OfMachine tells whether this fence opened on account of its node's Machine.
func (t Trigger) OfMachine() bool {
	return t.Condition == MachineCondition && (t.Status == MachinePhase || t.Status == MachineAsked)
}

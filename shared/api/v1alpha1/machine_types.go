package v1alpha1

import (
	"k8s.io/apimachinery/pkg/types"
)

// MachineRef is a Machine of any API, and the owner that makes another one in its place.
type MachineRef struct {
	// apiVersion is the group and version in which it was read: machine.openshift.io/v1beta1,
	// or cluster.x-k8s.io with the version that is served.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is the kind of the object: Machine.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Kind string `json:"kind,omitempty"`
	// namespace is the namespace of the Machine.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the Machine.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// uid is the UID of the Machine object.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid"`
	// owner is the UID of the object that controls it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Owner types.UID `json:"owner,omitempty"`
}

// String is namespace/name.
func (r MachineRef) String() string { return r.Namespace + "/" + r.Name }

// MachineState is what is wrong with a Machine.
// +kubebuilder:validation:Enum=Failed;Remediate;NoNode
type MachineState string

// What is wrong with Machines.
const (
	// MachineStateFailed: the Machine is in phase Failed.
	MachineStateFailed MachineState = "Failed"
	// MachineStateRemediate: somebody asks by annotation that the Machine be remediated.
	MachineStateRemediate MachineState = "Remediate"
	// MachineStateNoNode: the Machine got no node in time.
	MachineStateNoNode MachineState = "NoNode"
)

// FailedMachine is a Machine because of which its node is to be fenced.
type FailedMachine struct {
	MachineRef `json:",inline"`
	// nodeName is the name of its node; empty if it has none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// nodeUID is the UID of the Node object of that name; empty if there is none.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// state is Failed, Remediate where somebody asks for it by annotation, or NoNode where the
	// Machine got no node in time.
	// +required
	State MachineState `json:"state"`
	// message says what is wrong, in the Machine's own words.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// since is when it was first seen in this state, by the API server's clock.
	// +required
	Since Time `json:"since"`
	// notBefore is until when its fence waits, because it replaces Machines that failed.
	// +optional
	NotBefore *Time `json:"notBefore,omitempty"`
	// held says why the Machine is left alone; empty if it is not.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Held string `json:"held,omitempty"`
}

// Record is the name of the NodeFence: the node's, or the Machine's own if it has none.
func (m FailedMachine) Record() string {
	if m.NodeName != "" {
		return m.NodeName
	}
	return m.Name
}

// MachineRecord says when, and how often, the deletion of a Machine that has no node was asked
// for.
type MachineRecord struct {
	// askedAt is when its deletion was last asked for. It is saved before that is done.
	// +required
	AskedAt Time `json:"askedAt"`
	// tries counts how often its deletion was asked for.
	// +required
	Tries int32 `json:"tries"`
}
